-- renew: extends leases, each by its own length and never past its job's time-out and 15 s for the kill.
-- A job that runs longer than expected pays while it runs.
-- ARGV: prefix, then pairs: job, token
-- Answers: for each pair 1 (extended) or 0 (another token holds it, it ended, or its time is over).
-- @include args keys relief clock ring terms
arg_count(1, 2)
needs_no_memory()
local KILL, SLOT_TTL = 15000, 604800
local answers = {}
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  local f = rcall('HMGET', k('lease', id), 'token', 'tenant', 'lane', 'started', 'charged', 'terms', 'gates')
  local lease_ms, timeout, _, _, slot = terms_of(f[6])
  local alive = lease_ms and f[1] == ARGV[i + 1] and rcall('ZSCORE', k('leases'), id)
  local limit = alive and math.floor(tonumber(f[4]) / 1000) + timeout + KILL
  if not alive or now >= limit then
    answers[#answers + 1] = 0
  else
    local expiry = math.min(now + lease_ms, limit)
    rcall('ZADD', k('leases'), 'XX', expiry, id)
    rcall('ZADD', k('inflight', f[2]), 'XX', expiry, id)
    for gate in string.gmatch(f[7] or '', '[^\n]+') do
      gcall('ZADD', k('inflight', 'resource', gate), 'XX', expiry, id)
    end
    local more = (now_us - tonumber(f[4])) / 1000 - tonumber(f[5])
    if more > 0 then
      charge(f[2], f[3], more)
      rcall('HSET', k('lease', id), 'charged', tonumber(f[5]) + more)
    end
    rcall('EXPIRE', k('slot', slot), SLOT_TTL) -- a long job asks nothing that would keep its slot's record
    answers[#answers + 1] = 1
  end
end
return answers
