-- Finished jobs are kept by age; a type may also say how many of them are kept. Counted for each tenant, as one that
-- runs many must not push out the results of another.

local MOST_FORGOTTEN = 16 -- in one call: a lowered number is reached little by little

local function keep_newest(id, slug, job_type, keep)
  if keep <= 0 then return end
  local kept = k('kept', slug, job_type)
  rcall('ZADD', kept, now, id)
  local extra = math.min(rcall('ZCARD', kept) - keep, MOST_FORGOTTEN)
  if extra <= 0 then return end
  for _, old in ipairs(rcall('ZRANGE', kept, 0, extra - 1)) do
    local f = rcall('HMGET', 'rq:job:' .. old, 'status', 'origin')
    if f[1] == 'finished' then
      rcall('DEL', 'rq:job:' .. old)
      rcall('ZREM', 'rq:finished:' .. f[2], old)
    end
    rcall('ZREM', kept, old)
  end
end
