-- Out of the living: ended, cancelled or dead.
-- @include iso queue

-- The job keeps its record for ttl seconds (nil: until taken into the database). job_type and key: the job's own. More
-- fields of the record as name, value, …
local function close_job(id, queue, slug, job_type, key, status, registry, ttl, ...)
  rcall('HSET', 'rq:job:' .. id, 'status', status, 'ended_at', iso_now(), 'jo_ended', now_text, 'worker_name', '', ...)
  if key and key ~= '' then free_key(id, slug, job_type or '', key) end
  local second = math.floor(now / 1000)
  if now % 16 == 0 then rcall('ZREMRANGEBYSCORE', registry .. queue, '-inf', second) end -- now and then is enough
  if ttl then
    rcall('EXPIRE', 'rq:job:' .. id, ttl)
    rcall('ZADD', registry .. queue, string.format('%d', second + ttl), id)
  else
    rcall('ZADD', registry .. queue, '+inf', id)
  end
end
