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

-- Writes down what this request was answered: how the lease before ended, which it got, or that it waits. waited: what
-- is written of that already.
local function answer(slot, seq, settled, record, waits, waited)
  local key, idle = k('slot', slot), waits and '1' or ''
  rcall('HSET', key, 'seq', string.format('%.0f', seq), 'settled', settled, 'job', record and record[1] or '',
    'token', record and record[2] or '')
  if idle ~= waited then rcall('HSET', key, 'idle', idle) end
  if seq % 16 == 1 then rcall('EXPIRE', k('slot', slot), 604800) end
end

-- The lease that the same request was given before, once more in full; nil when it ended since.
local function same_claim(s)
  if not s[3] or s[3] == '' then return nil end
  local lease = read_lease(s[3])
  if not lease or lease.token ~= s[4] then return nil end
  local h = rcall('HMGET', 'rq:job:' .. s[3], unpack(FIELDS))
  local l = rcall('HMGET', k('lease', s[3]), 'timeout', 'lease')
  return {s[3], lease.token, lease.tenant, lease.lane, lease.type, lease.attempt, whole(h[4], 1), whole(l[1], 0),
    whole(l[2], 0), h[7] or '', h[8] or '', h[9] or '', whole(h[10], 0), whole(h[11], 0), h[12] or '', h[14] or '',
    h[15] or '', math.floor(lease.started / 1000)}
end
