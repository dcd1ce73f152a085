-- renew: extends leases, each by its own length and never past its job's time-out and 15 s for the kill.
-- A job that runs longer than expected pays while it runs.
-- ARGV: prefix, then pairs: job, token
-- Answers: for each pair 1 (extended) or 0 (another token holds it, it ended, or its time is over).
-- @include args keys relief clock ring
arg_count(1, 2)
needs_no_memory()
local KILL, SLOT_TTL = 15000, 604800
local answers = {}
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  local f = rcall('HMGET', k('lease', id), 'token', 'tenant', 'lane', 'started', 'charged', 'lease', 'timeout',
    'slot', 'gates')
  local alive = f[1] == ARGV[i + 1] and rcall('ZSCORE', k('leases'), id)
  local limit = alive and math.floor(tonumber(f[4]) / 1000) + tonumber(f[7]) + KILL
  if not alive or now >= limit then
    answers[#answers + 1] = 0
  else
    local expiry = math.min(now + tonumber(f[6]), limit)
    rcall('ZADD', k('leases'), 'XX', expiry, id)
    rcall('ZADD', k('inflight', f[2]), 'XX', expiry, id)
    for gate in string.gmatch(f[9] or '', '[^\n]+') do
      rcall('ZADD', k('inflight', 'resource', gate), 'XX', expiry, id)
    end
    local more = (now_us - tonumber(f[4])) / 1000 - tonumber(f[5])
    if more > 0 then
      local t = rcall('HMGET', k('tenant', f[2]), 'weight', 'vt:' .. f[3])
      charge(f[2], f[3], t[1], t[2], more)
      rcall('HSET', k('lease', id), 'charged', tonumber(f[5]) + more)
    end
    rcall('EXPIRE', k('slot', f[8] or ''), SLOT_TTL) -- a long job asks nothing that would keep its slot's record
    answers[#answers + 1] = 1
  end
end
return answers
