// What each kind of picture looks like. `panels` are functions from a width to Plotly's traces and layout; `controls`
// stand above them, `keys` below, and `nothing` instead where there is nothing to draw.

import { embeddingMap } from "./pictures/map.js";
import { convergence, honesty, trust, trustKeys } from "./pictures/outcomes.js";
import { sliceKeys, slices, surfaceControls, surfaces } from "./pictures/responses.js";

export const drawings = {
  convergence: { panels: convergence, nothing: "Nothing was measured or suggested yet." },
  slices: { panels: slices, keys: sliceKeys, nothing: "There is nothing to show yet." },
  surfaces: { panels: surfaces, controls: surfaceControls, nothing: "A surface needs two inputs; there is only one." },
  embedding_map: { panels: embeddingMap, nothing: "There are no levels yet." },
  honesty: { panels: honesty, nothing: "Nothing that was predicted has been measured yet." },
  trust: { panels: trust, keys: trustKeys, nothing: "There are too few tasks to judge by." },
};
