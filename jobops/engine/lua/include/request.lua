-- What a slot asked last, and what it was answered.

-- A slot's request number: the same number gets the same answer, as a client may send again what was already done.
-- Answers 'new', 'same' or 'closed', and what was answered before. A new request ends with answer().
local function request(slot, seq)
  local s = rcall('HMGET', k('slot', slot), 'seq', 'closed', 'job', 'token', 'settled', 'idle')
  if s[2] == '1' then return 'closed', s end
  if s[1] and tonumber(s[1]) == seq then return 'same', s end
  if s[1] and tonumber(s[1]) > seq then return 'closed', s end
  return 'new', s
end

-- Writes down what this request was answered: how the lease before ended, which it got, or that it waits. s: what is
-- written already.
local function answer(slot, seq, settled, record, waits, s)
  local key, idle = k('slot', slot), waits and '1' or ''
  rcall('HSET', key, 'seq', ARGV[3], 'job', record and record[1] or '',
    'token', record and record[2] or '')
  if settled ~= s[5] then rcall('HSET', key, 'settled', settled) end
  if idle ~= s[6] then rcall('HSET', key, 'idle', idle) end
  if seq % 16 == 1 then rcall('EXPIRE', k('slot', slot), 604800) end
end

-- The lease that the same request was given before, once more in full; nil when it ended since.
local function same_claim(s)
  if not s[3] or s[3] == '' then return nil end
  local lease = read_lease(s[3])
  if not lease or lease.token ~= s[4] then return nil end
  local h = rcall('HMGET', 'rq:job:' .. s[3], unpack(FIELDS))
  local lease_ms, timeout = terms_of(rcall('HGET', k('lease', s[3]), 'terms'))
  return {s[3], lease.token, lease.tenant, lease.lane, lease.type, lease.attempt, whole(h[4], 1), timeout or 0,
    lease_ms or 0, h[7] or '', h[8] or '', h[9] or '', whole(h[10], 0), whole(h[11], 0), h[12] or '', h[14] or '',
    h[15] or '', math.floor(lease.started / 1000)}
end
