-- Finished jobs are kept by age; a type may also say how many of them are kept. Counted for each tenant, as one that
-- runs many must not push out the results of another.

local MOST_FORGOTTEN = 16 -- in one call: a lowered number is reached little by little

local function forget_finished(id)
  local f = redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'origin')
  if f[1] ~= 'finished' then return end -- it runs again, or its time is over
  rcall('DEL', 'rq:job:' .. id)
  rcall('ZREM', 'rq:finished:' .. (f[2] or ''), id) -- a registry lists nothing that is gone
end

local function keep(id, kept, number)
  rcall('ZADD', kept, now_us, id) -- by the microsecond: many end within one millisecond
  -- When the last of them is gone by its age, so is the list.
  rcall('EXPIRE', kept, math.max(rcall('TTL', kept), rcall('TTL', 'rq:job:' .. id), 1))
  local extra = math.min(rcall('ZCARD', kept) - number, MOST_FORGOTTEN)
  if extra <= 0 then return end
  for _, old in ipairs(rcall('ZRANGE', kept, 0, extra - 1)) do
    if old ~= id then -- whatever the clock does, not the one that has just ended
      forget_finished(old)
      rcall('ZREM', kept, old)
    end
  end
end

-- A key of another kind must not keep a job from ending.
local function keep_newest(id, slug, job_type, number)
  if number > 0 and job_type then pcall(keep, id, k('kept', slug, job_type), number) end
end
