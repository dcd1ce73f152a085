-- outcome_ack: these outcomes are committed in the database. Removes exactly these members, so that two readers of one
-- batch never remove what neither has stored.
-- ARGV: prefix, member...
-- Answers: how many were removed.
-- @include args keys
arg_count(2, 1)
local removed = 0
for i = 2, #ARGV do
  removed = removed + rcall('ZREM', k('outcomes'), ARGV[i])
  local fine, told = pcall(cjson.decode, ARGV[i])
  local id = fine and type(told) == 'table' and told.id
  -- A later outcome of the same job stands there until it is removed itself.
  if type(id) == 'string' and redis.pcall('HGET', k('outcomes', 'of'), id) == ARGV[i] then
    rcall('HDEL', k('outcomes', 'of'), id)
  end
end
return removed
