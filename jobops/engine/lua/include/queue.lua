-- Waiting jobs. A job's id stands in its queue exactly while its status is "queued".
-- @include ring

-- A number out of a job's hash, which may be anybody's writing: what is none counts as the default.
local function whole(text, default)
  local n = tonumber(text)
  return n and n >= 0 and n < 2 ^ 53 and n == math.floor(n) and n or default
end

local FRONT = 32 -- jobs pushed to the front that are looked past for the oldest one

-- When the oldest waiting job became runnable, for backlog age; or out of the index when none waits, and out of the
-- ring when those that do all wait at gates. held: false when none does.
-- A queue is in the order of time but for those pushed to its front: they must not hide the age of what waits behind.
-- popped: the record of the one that was first in it until now, if that is known: one that became runnable in the same
-- instant changes nothing. Answers whether the queue has one.
local function note_oldest(slug, lane, held, popped)
  local queue, oldest = 'rq:queue:' .. queue_name(slug, lane), nil
  for place = 0, FRONT do
    local id = rcall('LINDEX', queue, place)
    if not id then break end
    local f = redis.pcall('HMGET', 'rq:job:' .. id, 'jo_runnable', 'jo_front') -- one of another kind says nothing
    if popped and held == false and f[1] == popped[18] and f[2] ~= '1' and popped[16] ~= '1' then return true end
    popped = nil
    oldest = math.min(oldest or now, whole(f[1], now))
    if f[2] ~= '1' then break end
  end
  local more = oldest ~= nil
  if not more then rcall('ZREM', k('ring', lane), slug) end
  local first = held ~= false and gcall('ZRANGE', k('held', queue_name(slug, lane)), 0, 0, 'WITHSCORES') or {}
  if first[1] then oldest = math.min(oldest or now, math.floor(tonumber(first[2]))) end
  if oldest then
    rcall('ZADD', k('active', lane), string.format('%d', oldest), slug)
  else
    rcall('ZREM', k('active', lane), slug)
  end
  return more
end

-- Some of it waits: whoever looks for queues with work finds it.
local function list_queue(slug, lane)
  rcall('SADD', 'rq:queues', 'rq:queue:' .. queue_name(slug, lane))
  rcall('ZADD', k('active', lane), 'NX', now_text, slug)
end

local function push(id, slug, lane, front, quiet)
  local queue = 'rq:queue:' .. queue_name(slug, lane)
  rcall(front and 'LPUSH' or 'RPUSH', queue, id)
  rcall('HSET', 'rq:job:' .. id, 'status', 'queued', 'jo_runnable', now_text, 'jo_front', front and '1' or '')
  list_queue(slug, lane)
  return ring_enter(slug, lane, quiet, true)
end

-- A job that lives no more blocks no later one with its key.
local function free_key(id, slug, job_type, key)
  if not key or key == '' then return end
  local unique = k('key', slug, job_type, key)
  if rcall('GET', unique) == id then rcall('DEL', unique) end
end

-- Its key stands for it for so long after its success. Whose it is goes along: the slug may be given anew meanwhile.
local function still_stands(id, slug, job_type, key, window)
  if window <= 0 or not key or key == '' then return end
  local uid = rcall('HGET', 'rq:job:' .. id, 'jo_tenant_uid')
  rcall('SET', k('done', slug, job_type, key), id .. ' ' .. (uid or ''), 'PX', window)
end
