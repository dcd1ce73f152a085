-- Keys of gates that an outsider overwrote with another kind. What they held is lost, and most of it is said elsewhere
-- too: reconcile, and whoever sets limits, write it anew. So such a key is put aside, and no job stops for it.

local ASIDE_S = 604800

-- Who holds a place at a gate is in the leases: its count must not begin at nothing.
local function count_places(key, gate)
  local leases = rcall('ZRANGE', k('leases'), 0, -1, 'WITHSCORES')
  for i = 1, #leases, 2 do
    local gates = redis.pcall('HGET', k('lease', leases[i]), 'gates')
    if type(gates) == 'string' and string.find('\n' .. gates .. '\n', '\n' .. gate .. '\n', 1, true) then
      rcall('ZADD', key, leases[i + 1], leases[i])
    end
  end
end

local function put_aside(key)
  local aside, inflight = k('aside', string.sub(key, #P + 2)), k('inflight', 'resource', '')
  rcall('RENAME', key, aside)
  rcall('EXPIRE', aside, ASIDE_S)
  if string.sub(key, 1, #inflight) == inflight then count_places(key, string.sub(key, #inflight + 1)) end
end

local function is_foreign(answer)
  return type(answer) == 'table' and answer.err and string.sub(answer.err, 1, 9) == 'WRONGTYPE'
end

-- redis.call, for a key of gates: one of another kind is put aside.
local function gcall(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if is_foreign(answer) then put_aside(key) end
  return rcall(command, key, ...)
end

-- As gcall, for who changes nothing: then it counts as one that is not there, of which this would be the answer.
local function peek(nothing, command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if is_foreign(answer) then return nothing end
  return answer
end
