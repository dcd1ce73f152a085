-- What a start takes at the gates.
-- @include bucket

-- Takes a token, where the gate has a rate, and a place. Answers the gates' names as the lease keeps them.
local function pass(id, gates, expiry)
  local names = {}
  for i, gate in ipairs(gates) do
    names[i] = gate.name
    gcall('ZADD', k('inflight', 'resource', gate.name), expiry, id)
    if gate.tokens then keep_tokens(k('resource', gate.name), gate.tokens - 1) end
  end
  rcall('HSET', 'rq:job:' .. id, 'jo_waits', '', 'jo_order', '', 'jo_back', '')
  return table.concat(names, '\n')
end
