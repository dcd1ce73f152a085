-- How a lease ends. Every path (settle, abandon, rescue, reconcile) comes through here, so that each is counted once.

local HISTORY = 50 -- attempts kept in the job's hash
local FREE_RELEASES = 20
local LOSS_MS = 200 -- worker time that a lost worker costs beside the job's own: a slot is buried and another started

local function read_lease(id)
  local f = redis.pcall('HMGET', k('lease', id), 'token', 'slot', 'worker', 'tenant', 'lane', 'type', 'started', 'charged',
    'attempt', 'level', 'lane_level')
  -- Half a lease (partly restored, or written by an outsider) is none: it must not stop those that are whole.
  if not (f[1] and f[3] and f[4] and f[5] and f[6] and tonumber(f[7]) and tonumber(f[8]) and tonumber(f[9])) then
    return nil
  end
  return {id = id, token = f[1], slot = f[2], worker = f[3], tenant = f[4], lane = f[5], type = f[6],
    started = tonumber(f[7]), charged = tonumber(f[8]), attempt = tonumber(f[9]), level = f[10] or '0',
    lane_level = f[11] or '0'}
end

-- RQ's tools see the worker without a job.
local function rest_worker(lease)
  local worker = 'rq:worker:' .. lease.worker
  if rcall('HGET', worker, 'current_job') == lease.id then
    rcall('HSET', worker, 'state', 'idle')
    rcall('HDEL', worker, 'current_job')
  end
end

-- No trace of the lease is left.
local function drop_lease(lease)
  local queue = queue_name(lease.tenant, lease.lane)
  rcall('DEL', k('lease', lease.id))
  rcall('ZREM', k('leases'), lease.id)
  rcall('ZREM', k('inflight', lease.tenant), lease.id)
  if rcall('EXISTS', k('inflight', lease.tenant)) == 0 then rcall('SREM', k('busy'), lease.tenant) end
  rcall('ZREM', 'rq:wip:' .. queue, lease.id .. ':' .. lease.token)
end

-- The slot is free, the tenant pays for what it really used, and other work of its may run.
local function end_lease(lease, quiet, extra)
  drop_lease(lease)
  local used = math.max(0, (now_us - lease.started) / 1000) + (extra or 0)
  charge(lease.tenant, lease.lane, rcall('HGET', k('tenant', lease.tenant), 'weight'), used - lease.charged,
    lease.level, lease.lane_level)
  ring_enter_all(lease.tenant, quiet)
  return used
end

-- The job's hash can vanish (evicted, deleted by an outsider). What the lease knows is enough to end it rightly.
local function restore(lease)
  rcall('HSET', 'rq:job:' .. lease.id, 'origin', queue_name(lease.tenant, lease.lane), 'jo_type', lease.type, 'jo_tenant', lease.tenant,
    'jo_lane', lease.lane, 'jo_attempt', lease.attempt, 'jo_max_attempts', lease.attempt, 'jo_lost_hash', '1')
end

-- Writes how the attempt ended into the job's hash, and with it the fields given as name, value, …
local function remember(lease, outcome, error_class, text, ...)
  local job = 'rq:job:' .. lease.id
  rcall('HSET', job, 'attempt:' .. lease.attempt, cjson.encode({n = lease.attempt, worker = lease.worker,
    started_at = math.floor(lease.started / 1000), ended_at = now, outcome = outcome, error_class = error_class,
    error = text}), ...)
  if lease.attempt > HISTORY then rcall('HDEL', job, 'attempt:' .. (lease.attempt - HISTORY)) end
end

-- Out of the living: it keeps its record for ttl seconds (nil: until taken into the database). job_type and key: the
-- job's own.
local function close_job(id, queue, slug, job_type, key, status, registry, ttl)
  rcall('HSET', 'rq:job:' .. id, 'status', status, 'ended_at', iso(now), 'jo_ended', now, 'worker_name', '')
  free_key(id, slug, job_type or '', key)
  local second = math.floor(now / 1000)
  if now % 16 == 0 then rcall('ZREMRANGEBYSCORE', registry .. queue, '-inf', second) end -- now and then is enough
  if ttl then
    rcall('EXPIRE', 'rq:job:' .. id, ttl)
    rcall('ZADD', registry .. queue, second + ttl, id)
  else
    rcall('ZADD', registry .. queue, '+inf', id)
  end
end

local function bury(lease, reason)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_type', 'jo_key')
  close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[1], f[2], 'failed', 'rq:failed:')
  rcall('HSET', job, 'jo_reason', reason, 'jo_died', now)
  rcall('PERSIST', job)
  rcall('ZADD', k('dead'), now, lease.id .. ':' .. lease.attempt)
end

-- A slug can be given to another customer: a job belongs to the tenant that it was enqueued for, not to its slug.
local function same_tenant(job_uid, uid)
  return not job_uid or job_uid == '' or not uid or uid == '' or job_uid == uid
end

-- Its tenant was deleted while it ran, so it has nowhere to go back to.
local function is_orphan(lease, job_uid)
  local uid = rcall('HGET', k('tenant', lease.tenant), 'uid')
  return not same_tenant(job_uid, uid) or (not uid and rcall('EXISTS', k('gone', lease.tenant)) == 1)
end

-- A waiting job of a tenant that is no more.
local function orphaned(lease)
  rcall('HSET', 'rq:job:' .. lease.id, 'jo_error_class', 'TenantDeleted', 'jo_error',
    'the tenant that it was enqueued for was deleted', 'jo_cause', 'unresolvable')
  bury(lease, 'unresolvable')
end

-- o: cause, error_class, error, brief, traceback, delay, front. Answers 'retry' or 'dead'.
local function fail(lease, o)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_max_attempts', 'jo_tenant_uid')
  local max = is_orphan(lease, f[2]) and 0 or whole(f[1], 1)
  rcall('HSET', job, 'jo_error_class', o.error_class, 'jo_error', o.error, 'jo_cause', o.cause,
    'exc_info', o.traceback ~= '' and o.traceback or o.error)
  if o.cause == 'poison' or o.cause == 'unresolvable' or lease.attempt >= max then
    local reason = o.cause
    if reason == 'error' then reason = 'exhausted' end
    bury(lease, reason)
    return 'dead'
  end
  if o.front then
    push(lease.id, lease.tenant, lease.lane, true)
  else
    local due = now + o.delay
    rcall('HSET', job, 'status', 'scheduled', 'jo_due', due, 'worker_name', '')
    rcall('ZADD', SCHEDULED, due / 1000, lease.id)
  end
  return 'retry'
end

-- The worker is gone or cut off: the next attempt stands first in its queue, or the job dies. A job that does not run
-- (its end or its way back is final, the lease a leftover) is not touched: that is 'none'.
local function lose(lease, cause, text)
  local status = rcall('HGET', 'rq:job:' .. lease.id, 'status')
  if status and status ~= 'started' then
    drop_lease(lease)
    rest_worker(lease)
    ring_enter_all(lease.tenant)
    return 'none'
  end
  local used = end_lease(lease, false, LOSS_MS)
  rest_worker(lease)
  if not status then restore(lease) end
  local error_class = cause == 'timeout' and 'JobTimeout' or 'WorkerLost'
  remember(lease, cause, error_class, text)
  local ended = fail(lease, {cause = cause, error_class = error_class, error = text, traceback = '', front = true})
  local tenant = {[lease.tenant .. '|lost'] = 1, [lease.tenant .. '|us'] = math.floor(used * 1000)}
  if ended == 'dead' then tenant[lease.tenant .. '|dead'] = 1 end
  bump('tenant', tenant)
  bump('type', {[lease.type .. '|lost'] = 1})
  return ended
end

-- o as for fail, and kind, result. Answers succeeded, retry, dead, discarded or released.
local function finish(lease, o, quiet)
  local used = end_lease(lease, quiet)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_result_ttl', 'jo_releases', 'jo_type', 'jo_key', 'status', 'jo_tenant_uid')
  if not f[5] then restore(lease) end
  local ended = o.kind
  if ended == 'succeeded' or ended == 'discarded' then
    remember(lease, ended, o.error_class, o.brief, 'result', o.result, 'jo_outcome', ended,
      'jo_error_class', o.error_class, 'jo_error', o.error)
    -- Those of an earlier attempt; the history keeps them.
    if lease.attempt > 1 then rcall('HDEL', job, 'exc_info', 'jo_cause') end
    close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[3], f[4], 'finished', 'rq:finished:',
      whole(f[1], 3600))
  elseif ended == 'released' then
    remember(lease, ended, '', '')
    local releases = whole(f[2], 0) + 1
    rcall('HSET', job, 'jo_releases', releases, 'worker_name', '')
    if releases <= FREE_RELEASES and not is_orphan(lease, f[6]) then
      rcall('HSET', job, 'jo_attempt', lease.attempt - 1)
      push(lease.id, lease.tenant, lease.lane, true, quiet)
    else
      ended = fail(lease, {cause = 'error', error_class = 'Released', traceback = '', front = true,
        error = 'released by a stopping worker ' .. releases .. ' times'})
    end
  else
    remember(lease, o.cause, o.error_class, o.brief)
    ended = fail(lease, o)
  end
  bump('tenant', {[lease.tenant .. '|' .. ended] = 1, [lease.tenant .. '|us'] = math.floor(used * 1000)})
  if ended ~= 'released' then
    local bucket = math.ceil(math.log(math.max(used, 1)) / math.log(2)) -- run time up to 2^bucket ms
    bump('type', {[lease.type .. '|' .. ended] = 1, [lease.type .. '|b' .. bucket] = 1})
    local average = tonumber(rcall('HGET', k('type', lease.type), 'average') or used)
    rcall('HSET', k('type', lease.type), 'average', average + (used - average) * 0.2)
  end
  return ended
end
