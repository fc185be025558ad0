"""HOW PEOPLE REACH IT from a browser, and lab machines from a program: `headstart serve`.

    serving     the application on a port
    app         pages and API over one store
    safety      who may reach it, and how much of it
    sessions    visitors' cookies and forms
    pages       HTML, for people
    api         JSON, for programs: /api/v1
    messages    what the API takes and sends
    views       what there is to see, as dicts that both send
    intake      from a dropped file to roles and a problem
    unpacking   how large a dropped file is inside
    reading     a campaign at one moment
    rendering   templates
    drawing     pictures as SVG
    units       units in columns' names
    pool        worker processes
    worker      what they do with the jobs of the queue
    pictures    what needs a surrogate, computed there

A request walks straight down: safety, a page or an API route, a view, the store. No request fits: that is a job, which
a worker takes from the store's queue.
"""
