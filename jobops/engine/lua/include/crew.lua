-- The workers, as far as it matters to one job.

local MOST_WORKERS = 1000

-- Does a worker that says so of itself know this job type? '' where it did not say.
local function knows(digest, job_type)
  if not digest or digest == '' or rcall('EXISTS', k('types', digest)) == 0 then return '' end
  return rcall('SISMEMBER', k('types', digest), job_type)
end

-- For each supervisor that was seen lately: id, last heartbeat (ms), heartbeat (ms), lost, draining, lanes, how many
-- slots, whether it knows the job type.
local function crew(job_type)
  local found = {}
  local seen = rcall('ZREVRANGE', k('supervisors'), 0, MOST_WORKERS - 1, 'WITHSCORES')
  for i = 1, #seen, 2 do
    local f = redis.pcall('HMGET', k('supervisor', seen[i]), 'heartbeat_ms', 'lost', 'draining', 'drain', 'lanes',
      'slots', 'types')
    if f[1] then
      local fine, slots = pcall(cjson.decode, f[6] or '[]')
      local draining = (f[3] == '1' or f[4] == '1') and '1' or ''
      found[#found + 1] = {seen[i], seen[i + 1], f[1], f[2] or '', draining, f[5] or '',
        fine and type(slots) == 'table' and #slots or 0, knows(f[7], job_type)}
    end
  end
  return found
end
