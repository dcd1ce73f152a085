-- How a lease ends. Every path (settle, abandon, rescue, reconcile) comes through here, so that each is counted once.
-- @include counters lease kept stopped postpone

local FREE_RELEASES = 20
local LOSS_MS = 200 -- worker time that a lost worker costs beside the job's own: a slot is buried and another started

-- The worker is gone or cut off: the next attempt stands first in its queue, or the job dies; or, with the mark of a
-- stop, what that says. A job that does not run (its end or its way back is final, the lease a leftover) is not touched:
-- that is 'none'.
local function lose(lease, cause, text)
  local status = rcall('HGET', 'rq:job:' .. lease.id, 'status')
  if status and status ~= 'started' then
    let_go(lease)
    rest_worker(lease)
    return 'none'
  end
  local used = end_lease(lease, false, LOSS_MS)
  rest_worker(lease)
  if not status then restore(lease) end
  local ended
  if lease.stop ~= '' or cause == 'stopped' then
    ended = obey(lease, lease.stop == 'retry' and 'retry' or 'end', lease.stop ~= '' and lease.stop_note or text)
  else
    local error_class = cause == 'timeout' and 'JobTimeout' or 'WorkerLost'
    remember(lease, cause, error_class, text)
    ended = fail(lease, {cause = cause, error_class = error_class, error = text, traceback = '', front = true})
  end
  local tenant = {[lease.tenant .. '|us'] = math.floor(used * 1000)}
  if lease.stop == '' and cause ~= 'stopped' then
    tenant[lease.tenant .. '|lost'] = 1
    bump('type', {[lease.type .. '|lost'] = 1})
  end
  if ended ~= 'retry' then tenant[lease.tenant .. '|' .. counted_as(ended)] = 1 end
  bump('tenant', tenant)
  return ended
end

local function succeed(lease, o, f)
  -- Those of an earlier attempt; the history keeps them.
  if lease.attempt > 1 then rcall('HDEL', 'rq:job:' .. lease.id, 'exc_info', 'jo_cause') end
  close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[3], f[4], 'finished', 'rq:finished:',
    whole(f[1], 3600), 'result', o.result, 'jo_outcome', o.kind, 'jo_error_class', o.error_class, 'jo_error', o.error,
    'jo_ran_by', lease.worker) -- the record says all of its last attempt: it needs no entry of its own in the history
  tell_outcome(lease.id, f[7] or lease.replay_of, o.kind, {attempt = lease.attempt, error_class = o.error_class,
    error = o.brief})
  if o.kind == 'succeeded' then still_stands(lease.id, lease.tenant, f[3], f[4], whole(f[8], 0)) end
  keep_newest(lease.id, lease.tenant, f[3], whole(f[9], 0))
  batch_ended(lease.id, f[10], f[7], o.kind)
  return o.kind
end

local function give_up_lease(lease, f, quiet)
  remember(lease, 'released', '', '')
  local job, releases = 'rq:job:' .. lease.id, whole(f[2], 0) + 1
  rcall('HSET', job, 'jo_releases', releases, 'worker_name', '')
  if releases > FREE_RELEASES or is_orphan(lease, f[6]) then
    return fail(lease, {cause = 'error', error_class = 'Released', traceback = '', front = true,
      error = 'released by a stopping worker ' .. releases .. ' times'})
  end
  rcall('HSET', job, 'jo_attempt', lease.attempt - 1)
  push(lease.id, lease.tenant, lease.lane, true, quiet)
  return 'released'
end

-- o as for fail, and kind, result. Answers succeeded, retry, dead, discarded, released, postponed or stopped.
local function finish(lease, o, quiet)
  local braked = o.kind == 'postponed' and o.cause == 'brake' and lease.stop == '' and brake_gate(lease)
  if braked then put_brake(braked, now + o.delay, lease.id) end -- before what the lease held is offered to others
  local used = end_lease(lease, quiet)
  local f = rcall('HMGET', 'rq:job:' .. lease.id, 'jo_result_ttl', 'jo_releases', 'jo_type', 'jo_key', 'status',
    'jo_tenant_uid', 'jo_replay_of', 'jo_dedup', 'jo_keep', 'jo_batch')
  if not f[5] then restore(lease) end
  local ended
  if o.kind == 'succeeded' or o.kind == 'discarded' then
    ended = succeed(lease, o, f)
  elseif lease.stop ~= '' then
    ended = obey(lease, lease.stop, lease.stop_note)
  elseif o.kind == 'released' then
    ended = give_up_lease(lease, f, quiet)
  elseif o.kind == 'postponed' then
    remember(lease, 'postponed', o.error_class, o.brief)
    ended = postpone(lease, o, braked)
  else
    remember(lease, o.cause, o.error_class, o.brief)
    ended = fail(lease, o)
  end
  bump('tenant', {[lease.tenant .. '|' .. counted_as(ended)] = 1, [lease.tenant .. '|us'] = math.floor(used * 1000)})
  if ended ~= 'released' and ended ~= 'postponed' then
    local bucket = math.ceil(math.log(math.max(used, 1)) / math.log(2)) -- run time up to 2^bucket ms
    bump('type', {[lease.type .. '|' .. counted_as(ended)] = 1, [lease.type .. '|b' .. bucket] = 1})
    local average = average_of(lease.type) or used
    note_average(lease.type, average + (used - average) * 0.2)
  end
  return ended
end
