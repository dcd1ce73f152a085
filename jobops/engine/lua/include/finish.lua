-- How a lease ends that its own token ends. What is lost ends by lost.lua.
-- @include counters lease kept outcome death stopped give_up postpone

local function succeed(lease, o, f)
  -- Those of an earlier attempt; the history keeps them.
  if lease.attempt > 1 then rcall('HDEL', 'rq:job:' .. lease.id, 'exc_info', 'jo_cause') end
  close_job(lease.id, queue_name(lease.tenant, lease.lane), lease.tenant, f[3], f[4], 'finished', 'rq:finished:',
    whole(f[1], 3600), 'result', o.result, 'jo_outcome', o.kind, 'jo_ran_by', lease.worker)
  -- The record says all of its last attempt: it needs no entry of its own in the history.
  if f[11] or o.error_class ~= '' or o.error ~= '' then
    rcall('HSET', 'rq:job:' .. lease.id, 'jo_error_class', o.error_class, 'jo_error', o.error)
  end
  local watched = f[7] or lease.replay_of
  if watched ~= '' then
    tell_outcome(lease.id, watched, o.kind, {attempt = lease.attempt, error_class = o.error_class, error = o.brief})
  end
  if f[8] and o.kind == 'succeeded' then still_stands(lease.id, lease.tenant, f[3], f[4], whole(f[8], 0)) end
  if f[9] then keep_newest(lease.id, lease.tenant, f[3], whole(f[9], 0)) end
  if f[10] then batch_ended(lease.id, f[10], f[7], o.kind) end
  return o.kind
end

-- o as for fail, and kind, result. Answers succeeded, retry, dead, discarded, released, postponed or stopped.
local function finish(lease, o, quiet)
  local braked = o.kind == 'postponed' and o.cause == 'brake' and lease.stop == '' and brake_gate(lease)
  if braked then put_brake(braked, now + o.delay, lease.id) end -- before what the lease held is offered to others
  local used = end_lease(lease, quiet)
  local f = rcall('HMGET', 'rq:job:' .. lease.id, 'jo_result_ttl', 'jo_releases', 'jo_type', 'jo_key', 'status',
    'jo_tenant_uid', 'jo_replay_of', 'jo_dedup', 'jo_keep', 'jo_batch', 'jo_error_class')
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
  local counted = ended == 'succeeded' and ended or counted_as(ended)
  bump('tenant', {[lease.tenant .. '|' .. counted] = 1, [lease.tenant .. '|us'] = math.floor(used * 1000)})
  if ended ~= 'released' and ended ~= 'postponed' then
    local bucket = used > 1 and math.ceil(math.log(used) / math.log(2)) or 0 -- run time up to 2^bucket ms
    bump('type', {[lease.type .. '|' .. counted .. '|b' .. bucket] = 1})
    local average = average_of(lease.type) or used
    note_average(lease.type, average + (used - average) * 0.2)
  end
  return ended
end
