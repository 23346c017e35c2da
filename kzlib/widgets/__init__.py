"""Four interactive views, one module each, and what they share in `view`.

`bench.KernelBench`, `groups.GroupExplorer`, `playground.Playground`, `frontier_map.FrontierMap`: each is a state, a
function from a state to HTML, and native controls that change the state. `show()` displays the start state as plain
HTML first, then, where a front end may be listening, the same HTML under its controls. Source: issue 9 item 1.
"""
