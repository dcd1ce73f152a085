-- Putting one job right that waits for a gate, or does not. p: as places() answers.

-- It waits nowhere (but at that gate). Answers whether it did.
local function leave_rooms(id, p, but)
  local left = false
  for _, gate in ipairs(p.rooms) do
    if gate ~= but then
      gcall('ZREM', k('waiting', gate), id)
      gcall('ZREM', k('line', p.queue, gate), id)
      if not but then leave_room(id, p.slug, p.lane, gate) end
      left = true
    end
  end
  if not but and p.held then
    leave_room(id, p.slug, p.lane, p.waits)
    left = true
  end
  return left
end

-- It stands wherever one does that waits for this gate. Answers whether it had not.
local function stay_in_room(id, p)
  local score = gcall('ZSCORE', k('line', p.queue, p.waits), id)
  local whole_room = score and p.held and gcall('ZSCORE', k('waiting', p.waits), id)
    and gcall('SISMEMBER', k('lines', p.queue), p.waits) == 1
  if whole_room then return false end
  local f = rcall('HMGET', 'rq:job:' .. id, 'jo_order', 'jo_runnable')
  local order = tonumber(score or f[1] or '') or whole(f[2], now)
  stand_in(id, p.slug, p.lane, p.waits, order)
  rcall('HSET', 'rq:job:' .. id, 'jo_order', string.format('%.17g', order))
  if may_run(p.slug, p.lane) then turns_enter(p.waits, p.queue) end
  release(p.waits, 1)
  return true
end
