-- Giving a job to a slot.
-- @include pass parked counters

-- The tenant pays beforehand what such a job usually takes, and so does its lane. Answers its new virtual time.
local function pay(at, l, weight, expected)
  local time = at.score + virtual(expected, weight)
  note_time(at.slug, at.lane, time)
  lane_set(at.lane, 'vtime', l.vtime + virtual(expected, l.share))
  if at.score > l.vnow then lane_set(at.lane, 'vnow', at.score) end
  if time > l.vmax then lane_set(at.lane, 'vmax', time) end
  return string.format('%d', time)
end

-- Writes the lease of the head that was popped. at: slug, lane, score in the ring, and was_first: it stood first, nobody
-- was passed over; l: the lane's record; gates: those that it passes (nil: none). Answers what the slot needs to run it.
local function take(id, h, at, l, t, gates, slot, worker, token)
  local slug, lane = at.slug, at.lane
  local job = 'rq:job:' .. id
  local queue = queue_name(slug, lane)
  local job_type = h[2] or ''
  local attempt = whole(h[3], 0) + 1
  local attempt_text = string.format('%d', attempt)
  local lease_ms = whole(h[6], 30000)
  local timeout = whole(h[5], 30000)
  local expected = average_of(job_type) or 100
  local time = pay(at, l, tonumber(t[1]), expected)
  local expiry = string.format('%d', now + lease_ms)
  rcall('HSET', k('lease', id), 'token', token, 'worker', worker, 'tenant', slug, 'lane', lane, 'type', job_type,
    'started', string.format('%d', now_us), 'charged', text_of(expected), 'attempt', attempt_text,
    'terms', terms_text(lease_ms, timeout, l.level, cell('lane_level') or '0', slot))
  if h[13] and h[13] ~= '' then rcall('HSET', k('lease', id), 'replay_of', h[13]) end
  if gates then rcall('HSET', k('lease', id), 'gates', pass(id, gates, expiry)) end
  rcall('ZADD', k('leases'), expiry, id)
  rcall('ZADD', k('inflight', slug), expiry, id)
  if running_now[slug] then running_now[slug] = running_now[slug] + 1 end
  if not still_busy[slug] and running_of(slug) == 1 then rcall('SADD', k('busy'), slug) end
  rcall('ZADD', 'rq:wip:' .. queue, '+inf', id .. ':' .. token)
  rcall('HSET', job, 'status', 'started', 'jo_attempt', attempt_text, 'started_at', iso_now(), 'last_heartbeat', iso_now(),
    'jo_started', now_text, 'worker_name', worker)
  local more = note_oldest(slug, lane, t[8] == '1', at.was_first and h)
  if (not t.tokens or pay_token(slug, queue, t)) and more and has_room(slug, lane, t[2], t[3]) then
    rcall('ZADD', k('ring', lane), 'XX', time, slug)
  elseif more then
    rcall('ZREM', k('ring', lane), slug)
  end
  bump('tenant', attempt > 1 and {[slug .. '|starts'] = 1, [slug .. '|retries'] = 1} or {[slug .. '|starts'] = 1})
  if gates then
    for _, gate in ipairs(gates) do
      if rcall('EXISTS', k('waiting', gate.name)) == 1 then release(gate.name, 1, true) end -- there may be more room
    end
  end
  return {id, token, slug, lane, job_type, attempt, whole(h[4], 1), timeout, lease_ms, h[7] or '', h[8] or '', h[9] or '',
    whole(h[10], 0), whole(h[11], 0), h[12] or '', h[14] or '', h[15] or '', now}
end
