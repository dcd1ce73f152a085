-- How a lease ends. Every path (settle, abandon, rescue, reconcile) comes through here, so that each is counted once.

local HISTORY = 50 -- attempts kept in the job's hash
local FREE_RELEASES = 20
local LOSS_MS = 200 -- worker time that a lost worker costs beside the job's own: a slot is buried and another started

-- The job's hash can vanish (evicted, deleted by an outsider). What the lease knows is enough to end it rightly.
local function restore(lease)
  rcall('HSET', 'rq:job:' .. lease.id, 'origin', queue_name(lease.tenant, lease.lane), 'jo_type', lease.type,
    'jo_tenant', lease.tenant, 'jo_lane', lease.lane, 'jo_attempt', lease.attempt,
    'jo_max_attempts', lease.attempt, 'jo_lost_hash', '1', 'jo_replay_of', lease.replay_of or '')
end

-- Writes how the attempt ended into the job's hash, and with it the fields given as name, value, …
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
  local f = rcall('HMGET', job, 'jo_result_ttl', 'jo_releases', 'jo_type', 'jo_key', 'status', 'jo_tenant_uid',
    'jo_replay_of', 'jo_dedup', 'jo_keep', 'jo_batch')
  if not f[5] then restore(lease) end
  local ended = o.kind
  if ended == 'succeeded' or ended == 'discarded' then
    remember(lease, ended, o.error_class, o.brief, 'result', o.result, 'jo_outcome', ended,
      'jo_error_class', o.error_class, 'jo_error', o.error)
    -- Those of an earlier attempt; the history keeps them.
    if lease.attempt > 1 then rcall('HDEL', job, 'exc_info', 'jo_cause') end
    close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[3], f[4], 'finished', 'rq:finished:',
      whole(f[1], 3600))
    tell_outcome(lease.id, f[7] or lease.replay_of, ended, {attempt = lease.attempt, error_class = o.error_class,
      error = o.brief})
    if ended == 'succeeded' then still_stands(lease.id, lease.tenant, f[3], f[4], whole(f[8], 0)) end
    keep_newest(lease.id, lease.tenant, f[3], whole(f[9], 0))
    batch_ended(lease.id, f[10], f[7], ended)
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
