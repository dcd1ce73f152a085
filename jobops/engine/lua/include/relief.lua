-- Redis that is full refuses a script's first write if it needs memory, and lets later ones pass so that no script is
-- cut in half. What ends, keeps or holds back work must go on then: its first write is one that needs none.
local function needs_no_memory() rcall('DEL', k('none')) end
