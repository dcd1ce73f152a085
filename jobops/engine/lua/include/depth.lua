-- Depth: how much of a tenant waits, in all its lanes, for its turn or at a gate; and when there may be room again.

local function depth_of(slug)
  local waiting = 0
  for _, lane in each_lane() do
    local queue = queue_name(slug, lane)
    waiting = waiting + rcall('LLEN', 'rq:queue:' .. queue) + gcall('ZCARD', k('held', queue))
  end
  return waiting
end

local LONGEST_S = 300
local UNKNOWN_S = 60 -- nothing of it was started lately: nobody knows

-- What keeps all of its jobs from starting until a person ends it: 'all', 'tenant', or '' for nothing.
local function paused_by(slug)
  if cell('paused') == '1' then return 'all' end
  return rcall('HGET', k('tenant', slug), 'paused') == '1' and 'tenant' or ''
end

-- About how many seconds until so many of its jobs were started, at the rate of this minute and the two before it.
local function room_in(slug, places)
  local minute, starts = math.floor(now / 60000), 0
  for each = minute - 2, minute do
    starts = starts + whole(rcall('HGET', k('minute', string.format('%.0f', each), 'tenant'), slug .. '|starts'), 0)
  end
  if starts == 0 then return UNKNOWN_S end
  local measured_s = 120 + now % 60000 / 1000
  return math.min(LONGEST_S, math.max(1, math.ceil(places * measured_s / starts)))
end
