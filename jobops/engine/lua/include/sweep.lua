-- Promotion and rescue are sweeps: every worker and scheduler comes by again and again and does a batch.

-- Is the sweep to be done by this caller now? Not when somebody else did some less than interval ms ago: who began goes on
-- as long as there is more. Batches of many would follow upon each other, and a claim wait for them all. by: who calls
-- ('': nobody in particular). Answers also when it was done last (nil: nobody knows).
local function is_called_for(sweep, interval, by)
  local c = rcall('HMGET', CELL, sweep .. '_tick', sweep .. '_by')
  local tick = tonumber(c[1] or '')
  local since = now - (tick or 0)
  return since < 0 or since >= interval or (by ~= '' and c[2] == by), tick -- below 0: the clock was set back
end

local function note_sweep(sweep, by) rcall('HSET', CELL, sweep .. '_tick', now_text, sweep .. '_by', by) end
