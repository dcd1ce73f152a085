-- An attempt that did not succeed.
-- @include queue bury

local HISTORY = 50 -- attempts kept in the job's hash

-- The job's hash can vanish (evicted, deleted by an outsider). What the lease knows is enough to end it rightly.
local function restore(lease)
  rcall('HSET', 'rq:job:' .. lease.id, 'origin', queue_name(lease.tenant, lease.lane), 'jo_type', lease.type,
    'jo_tenant', lease.tenant, 'jo_lane', lease.lane, 'jo_attempt', lease.attempt,
    'jo_max_attempts', lease.attempt, 'jo_lost_hash', '1', 'jo_replay_of', lease.replay_of or '')
end

-- Writes how the attempt ended into the job's hash, and more fields of it as name, value, … Of one that ended well the
-- record itself tells that.
local function remember(lease, outcome, error_class, text, ...)
  local job = 'rq:job:' .. lease.id
  rcall('HSET', job, 'attempt:' .. lease.attempt, cjson.encode({n = lease.attempt, worker = lease.worker,
    started_at = math.floor(lease.started / 1000), ended_at = now, outcome = outcome, error_class = error_class,
    error = text}), ...)
  if lease.attempt > HISTORY then rcall('HDEL', job, 'attempt:' .. (lease.attempt - HISTORY)) end
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
