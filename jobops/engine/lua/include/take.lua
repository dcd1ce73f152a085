-- Writes the lease of the head that was popped. Answers what the slot needs to run it.
local function take(id, h, l, t, lane_level, slot, worker, token)
  local slug, lane = l.slug, l.name
  local job = 'rq:job:' .. id
  local queue = queue_name(slug, lane)
  local job_type = h[2] or ''
  local attempt = whole(h[3], 0) + 1
  local lease_ms = whole(h[6], 30000)
  local timeout = whole(h[5], 30000)
  local expected = tonumber(rcall('HGET', k('type', job_type), 'average') or 100)
  local vt = l.score + expected / tonumber(t[1])
  rcall('HSET', k('tenant', slug), 'vt:' .. lane, vt)
  rcall('HSET', k('lane', lane), 'vnow', math.max(l.vnow, l.score), 'vtime', l.vtime + expected / l.share,
    'vmax', math.max(l.vmax, vt))
  local expiry = now + lease_ms
  rcall('HSET', k('lease', id), 'token', token, 'slot', slot, 'worker', worker, 'tenant', slug, 'lane', lane,
    'type', job_type, 'started', string.format('%.0f', now_us), 'charged', expected, 'attempt', attempt,
    'lease', lease_ms, 'timeout', timeout, 'level', l.level, 'lane_level', lane_level)
  if h[13] and h[13] ~= '' then rcall('HSET', k('lease', id), 'replay_of', h[13]) end
  rcall('ZADD', k('leases'), expiry, id)
  rcall('ZADD', k('inflight', slug), expiry, id)
  rcall('SADD', k('busy'), slug)
  rcall('ZADD', 'rq:wip:' .. queue, '+inf', id .. ':' .. token)
  local at = iso(now)
  rcall('HSET', job, 'status', 'started', 'jo_attempt', attempt, 'started_at', at, 'last_heartbeat', at,
    'jo_started', now, 'worker_name', worker)
  if has_room(slug, lane, t[2], t[3]) then
    rcall('ZADD', k('ring', lane), 'XX', vt, slug)
  else
    rcall('ZREM', k('ring', lane), slug)
  end
  note_oldest(slug, lane)
  if rcall('EXISTS', 'rq:worker:' .. worker) == 1 then
    rcall('HSET', 'rq:worker:' .. worker, 'state', 'busy', 'current_job', id)
  end
  bump('tenant', {[slug .. '|starts'] = 1, [slug .. '|retries'] = attempt > 1 and 1 or nil})
  return {id, token, slug, lane, job_type, attempt, whole(h[4], 1), timeout, lease_ms, h[7] or '', h[8] or '', h[9] or '',
    whole(h[10], 0), whole(h[11], 0), h[12] or '', h[14] or '', h[15] or ''}
end
