-- What time has opened comes into play again.
-- @include release

local UNPARKED = 16 -- in one call
local SAMPLE = 16   -- waiters whose queues are looked after when nobody is in turn

-- There are waiters and nobody is in turn: theirs whose tenant may run had lost their place.
local function find_turns(gate)
  for _, id in ipairs(gcall('ZRANGE', k('waiting', gate), 0, SAMPLE - 1)) do
    local f = redis.pcall('HMGET', 'rq:job:' .. id, 'jo_tenant', 'jo_lane')
    local queue = f[1] and f[2] and queue_name(f[1], f[2])
    if queue and rcall('EXISTS', k('line', queue, gate)) == 1 and may_run(f[1], f[2]) then turns_enter(gate, queue) end
  end
end

local function open(member)
  local kind, name = string.match(member, '^(%a+):(.*)$')
  if kind == 'tenant' then
    ring_enter_all(name, true)
  elseif kind == 'resource' then
    if gcall('ZCARD', k('turns', name)) == 0 then find_turns(name) end
    release(name, OFFERS, true)
  end
end

-- To be called once the first of them is due. Wakes nobody: whoever calls does, at its end.
local function unpark()
  local due = gcall('ZRANGEBYSCORE', k('parked'), '-inf', now_text, 'LIMIT', 0, UNPARKED)
  for _, member in ipairs(due) do
    gcall('ZREM', k('parked'), member)
    pcall(open, member) -- one malformed key must not stop all others
  end
  note_first_parked()
end
