-- A job that no lease speaks for.
-- @include lost

-- It is marked as running: its attempt ends as lost. Answers retry or dead.
local function lose_leaseless(id, token, slug, lane)
  local f = rcall('HMGET', 'rq:job:' .. id, 'jo_type', 'jo_attempt', 'worker_name', 'jo_started', 'jo_resource')
  local started = whole(f[4], now)
  return lose({id = id, token = token, slot = '', worker = f[3] or '', tenant = slug, lane = lane, type = f[1],
    started = started * 1000, charged = (now_us / 1000) - started, attempt = whole(f[2], 1), stop = '',
    gates = gates_of(f[1] or '', f[5], '1') or {}}, 'worker_lost', 'it ran without a lease')
end

-- Ends its attempt when it is marked as running in this lane; else only its place in flight is freed. Answers whether
-- an attempt was lost.
local function orphan(id, token, slug, lane)
  local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'jo_type', 'jo_lane')
  rcall('ZREM', 'rq:wip:' .. queue_name(slug, lane), id .. ':' .. token)
  if f[1] == 'started' and f[2] and f[3] == lane then
    lose_leaseless(id, token, slug, lane)
    return true
  end
  if f[3] == lane or not f[1] then rcall('ZREM', k('inflight', slug), id) end
  return false
end
