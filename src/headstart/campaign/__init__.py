"""WHAT HAPPENED: campaigns that are kept, in an SQLite file or a PostgreSQL database.

campaign    ask and tell: the one class with a state
fitting     its surrogate, cached and warm-started
jobs        the queue of work that takes long
beliefs     pictures of what was believed
uploads     files on their way in
tables      records as frames
store       records in a database, once, whatever happens
rows        rows of the database as records
database    connections, transactions, migrations
schema      the tables
"""

from headstart.campaign.campaign import Campaign
from headstart.campaign.store import Store

__all__ = ["Campaign", "Store"]
