-- promote: moves delayed jobs that are due to the end of their queues.
-- ARGV: prefix, limit, min_interval_ms (0: whatever others do), by (who calls; '' nobody in particular)
-- Answers: {moved, wait_ms (until the next is due, 0: one is; -1: none), skipped (1/0: another's)}
-- Events: wake-up tokens.
-- @include args keys relief clock ring queue parked sweep
arg_count(4)
local limit, interval, by = arg_int(2, 'limit', 1), arg_int(3, 'min_interval_ms', 0), ARGV[4]
local mine, tick = is_called_for('promote', interval, by)
if not mine then return {0, -1, 1} end
needs_no_memory()
local due = rcall('ZRANGEBYSCORE', SCHEDULED, '-inf', string.format('%.3f', now / 1000), 'LIMIT', 0, limit)
note_sweep('promote', by)
if tick and now < tick then park_anew() end -- the clock was set back: nobody waits for it to come to where it was

local moved, queues, order = 0, {}, {} -- queues: name → what goes to its end, in the order of time; false: no queue of ours

local function queue_of(name)
  local q = queues[name]
  if q == nil then
    local slug, lane = string.match(name, '^(.+)%.([^.]+)$')
    q = slug and {key = 'rq:queue:' .. name, slug = slug, lane = lane, ids = {}, jobs = {}} or false
    queues[name] = q
    order[#order + 1] = q or nil
  end
  return q
end

local function to_end(q, id, job)
  local n = #q.ids + 1
  q.ids[n], q.jobs[n] = id, job
end

-- One that has been in a queue before, goes to the front, or is not ours.
local function move(id, job)
  local f = rcall('HMGET', job, 'status', 'origin', 'jo_type', 'jo_priority', 'jo_attempt')
  local q = f[3] and f[2] and queue_of(f[2])
  if q then
    if f[1] ~= 'scheduled' then return end -- cancelled or pushed meanwhile: not ours to move
    if f[4] == 'front' and whole(f[5], 0) == 0 then -- a retry has had its turn
      push(id, q.slug, q.lane, true)
      moved = moved + 1
    else
      rcall('HSET', job, 'jo_front', '')
      to_end(q, id, job)
    end
  elseif f[2] then
    -- Put there by plain rq-scheduler: to its own queue, as it would.
    rcall('SADD', 'rq:queues', 'rq:queue:' .. f[2])
    rcall('HSET', job, 'status', 'queued')
    rcall('RPUSH', 'rq:queue:' .. f[2], id)
    moved = moved + 1
  end
end

local MANY = 1000 -- arguments in one call

local function push_all(q)
  local n, waiting = #q.ids, 0
  for first = 1, n, MANY do waiting = rcall('RPUSH', q.key, unpack(q.ids, first, math.min(first + MANY - 1, n))) end
  for _, job in ipairs(q.jobs) do rcall('HSET', job, 'status', 'queued', 'jo_runnable', now_text) end
  moved = moved + n
  if waiting == n then list_queue(q.slug, q.lane) end -- else it is listed since there were none
  if not ring_enter(q.slug, q.lane, true, true) then return end
  for _ = 1, math.min(n, rcall('ZCARD', k('idle', q.lane))) do wake(q.lane) end
end

if due[1] then rcall('ZREMRANGEBYRANK', SCHEDULED, 0, #due - 1) end -- the very same
for _, id in ipairs(due) do
  local job = 'rq:job:' .. id
  local f = redis.pcall('HMGET', job, 'status', 'origin', 'jo_front')
  local q = f[3] == '' and f[1] == 'scheduled' and f[2] and queue_of(f[2])
  if q then to_end(q, id, job) else pcall(move, id, job) end -- one malformed key must not stop all others
end
for _, q in ipairs(order) do
  if q.ids[1] then pcall(push_all, q) end
end
local head = rcall('ZRANGE', SCHEDULED, 0, 0, 'WITHSCORES')
return {moved, head[2] and math.max(0, math.ceil(tonumber(head[2]) * 1000 - now)) or -1, 0}
