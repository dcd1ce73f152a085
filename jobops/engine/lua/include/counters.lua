-- This minute's counters: <tenant>|<what>, and <type>|<how its attempts ended> or <type>|<how>|b<bucket>: as many of
-- them ran up to 2^bucket ms. Kept 15 minutes.
local minute = string.format('%d', math.floor(now / 60000))
local function bump(hash, fields)
  local key = k('minute', minute, hash)
  local fresh = true -- no field was there before: the hash may be new
  for field, by in pairs(fields) do
    if rcall('HINCRBY', key, field, by == 1 and '1' or string.format('%d', by)) ~= by then fresh = false end
  end
  if fresh then rcall('EXPIRE', key, 900) end
end
