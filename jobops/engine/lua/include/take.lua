-- Takes a token, where the gate has a rate, and a place. Answers the gates' names as the lease keeps them.
local function pass(id, gates, expiry)
  local names = {}
  for i, gate in ipairs(gates) do
    names[i] = gate.name
    rcall('ZADD', k('inflight', 'resource', gate.name), expiry, id)
    if gate.tokens then keep_tokens(k('resource', gate.name), gate.tokens - 1) end
  end
  rcall('HSET', 'rq:job:' .. id, 'jo_waits', '', 'jo_order', '', 'jo_back', '')
  return table.concat(names, '\n')
end

-- The tenant pays a token for this start, where it has a rate. Answers whether it has one for another; if not, and more
-- of it waits in this queue, it is parked until then (elsewhere, when it is met there).
local function pay_token(slug, queue, t)
  if not t.tokens then return true end
  local left = t.tokens - 1
  keep_tokens(k('tenant', slug), left)
  if left >= ENOUGH then return true end
  if rcall('EXISTS', 'rq:queue:' .. queue) == 1 then park('tenant:' .. slug, token_due(left, t.count, t.per)) end
  return false
end

-- The tenant pays beforehand what such a job usually takes, and so does its lane. Answers its new virtual time.
local function pay(at, l, weight, expected)
  local time = at.score + expected / weight
  local text = string.format('%.17g', time)
  rcall('HSET', k('tenant', at.slug), 'vt:' .. at.lane, text)
  l.vtime = l.vtime + expected / l.share
  local f = {'vtime', string.format('%.17g', l.vtime)}
  if at.score > l.vnow then
    l.vnow = at.score
    f[3], f[4] = 'vnow', string.format('%.17g', at.score)
  end
  if time > l.vmax then
    l.vmax = time
    f[#f + 1] = 'vmax'
    f[#f + 1] = text
  end
  rcall('HSET', k('lane', at.lane), unpack(f))
  return text
end

-- Writes the lease of the head that was popped. at: slug, lane, score in the ring, level of the lanes; l: the lane's
-- record; gates: those that it passes (nil: none). Answers what the slot needs to run it.
local function take(id, h, at, l, t, gates, slot, worker, token)
  local slug, lane = at.slug, at.lane
  local job = 'rq:job:' .. id
  local queue = queue_name(slug, lane)
  local job_type = h[2] or ''
  local attempt = whole(h[3], 0) + 1
  local lease_ms = whole(h[6], 30000)
  local timeout = whole(h[5], 30000)
  local expected = average_of(job_type) or 100
  local time = pay(at, l, tonumber(t[1]), expected)
  local expiry = string.format('%.0f', now + lease_ms)
  rcall('HSET', k('lease', id), 'token', token, 'slot', slot, 'worker', worker, 'tenant', slug, 'lane', lane,
    'type', job_type, 'started', string.format('%.0f', now_us), 'charged', expected, 'attempt', attempt,
    'lease', lease_ms, 'timeout', timeout, 'level', l.level, 'lane_level', at.lane_level)
  if h[13] and h[13] ~= '' then rcall('HSET', k('lease', id), 'replay_of', h[13]) end
  if gates then rcall('HSET', k('lease', id), 'gates', pass(id, gates, expiry)) end
  rcall('ZADD', k('leases'), expiry, id)
  rcall('ZADD', k('inflight', slug), expiry, id)
  local running = rcall('ZCARD', k('inflight', slug))
  if running == 1 then rcall('SADD', k('busy'), slug) end
  rcall('ZADD', 'rq:wip:' .. queue, '+inf', id .. ':' .. token)
  rcall('HSET', job, 'status', 'started', 'jo_attempt', attempt, 'started_at', iso_now(), 'last_heartbeat', iso_now(),
    'jo_started', now_text, 'worker_name', worker)
  if pay_token(slug, queue, t) and has_room(slug, lane, t[2], t[3], running) then
    rcall('ZADD', k('ring', lane), 'XX', time, slug)
  else
    rcall('ZREM', k('ring', lane), slug)
  end
  note_oldest(slug, lane, t[8] == '1')
  if rcall('EXISTS', 'rq:worker:' .. worker) == 1 then
    rcall('HSET', 'rq:worker:' .. worker, 'state', 'busy', 'current_job', id)
  end
  bump('tenant', {[slug .. '|starts'] = 1, [slug .. '|retries'] = attempt > 1 and 1 or nil})
  for _, gate in ipairs(gates or {}) do
    if rcall('EXISTS', k('waiting', gate.name)) == 1 then release(gate.name, 1, true) end -- there may be more room
  end
  return {id, token, slug, lane, job_type, attempt, whole(h[4], 1), timeout, lease_ms, h[7] or '', h[8] or '', h[9] or '',
    whole(h[10], 0), whole(h[11], 0), h[12] or '', h[14] or '', h[15] or '', now}
end
