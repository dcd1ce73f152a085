-- This minute's counters: <tenant>|<what> and <type>|<what>. Kept 15 minutes.
local function bump(hash, fields)
  local key = k('minute', string.format('%.0f', math.floor(now / 60000)), hash)
  local fresh = true -- no field was there before: the hash may be new
  for field, by in pairs(fields) do
    if rcall('HINCRBY', key, field, by) ~= by then fresh = false end
  end
  if fresh then rcall('EXPIRE', key, 900) end
end
