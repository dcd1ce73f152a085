-- This minute's counters: <tenant>|<what> and <type>|<what>. Kept 15 minutes.
local minute = string.format('%.0f', math.floor(now / 60000))
local function bump(hash, fields)
  local key = k('minute', minute, hash)
  local fresh = true -- no field was there before: the hash may be new
  for field, by in pairs(fields) do
    if rcall('HINCRBY', key, field, by) ~= by then fresh = false end
  end
  if fresh then rcall('EXPIRE', key, 900) end
end

-- A type's moving average of run time (ms), or nil; read once a call.
local averages = {}
local function average_of(job_type)
  local average = averages[job_type]
  if average == nil then
    average = tonumber(rcall('HGET', k('type', job_type), 'average') or '') or false
    averages[job_type] = average
  end
  return average or nil
end

local function note_average(job_type, average)
  averages[job_type] = average
  rcall('HSET', k('type', job_type), 'average', average)
end
