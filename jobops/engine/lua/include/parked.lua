-- Parked is what only time opens: "tenant:<slug>" and "resource:<gate>" → that instant (ms). The cell keeps the first
-- of these, so that nobody reads here before there is something.

local first_parked -- read once a call; false: nothing is parked

local function next_parked()
  if first_parked == nil then first_parked = tonumber(rcall('HGET', CELL, 'parked') or '') or false end
  return first_parked
end

local function note_parked(at)
  first_parked = at or false
  rcall('HSET', CELL, 'parked', at and string.format('%.0f', at) or '')
end

local function park(member, at)
  rcall('ZADD', k('parked'), at, member)
  local first = next_parked()
  if not first or at < first then note_parked(at) end
end

local function note_first_parked()
  local head = rcall('ZRANGE', k('parked'), 0, 0, 'WITHSCORES')
  note_parked(head[2] and tonumber(head[2]))
end

-- After the clock was set back: whatever waits for an instant of the old clock is looked at, and parked anew.
local function park_anew()
  for _, member in ipairs(rcall('ZRANGEBYSCORE', k('parked'), '(' .. string.format('%.0f', now), '+inf')) do
    rcall('ZADD', k('parked'), now, member)
  end
  note_first_parked()
end
