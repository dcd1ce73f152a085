-- Batches: which members have not ended yet, which are dead, and how many ended in which other way.
-- A replay stands for the member that died.

local function member_of(id, replay_of)
  return string.match(replay_of or '', '^(.*):[^:]*$') or id
end

-- It is on its way (again).
local function batch_joined(id, batch, replay_of)
  if not batch or batch == '' then return end
  local member, left = member_of(id, replay_of), k('batch', batch, 'left')
  if rcall('SMOVE', k('batch', batch, 'dead'), left, member) == 0 then rcall('SADD', left, member) end
  rcall('ZADD', k('batches'), now, batch)
end

-- how: succeeded, discarded, cancelled, coalesced or dead. A member counts once, whatever is told of it again.
local function batch_ended(id, batch, replay_of, how)
  if not batch or batch == '' then return end
  local member, left = member_of(id, replay_of), k('batch', batch, 'left')
  local is_replay = replay_of and replay_of ~= ''
  if how == 'dead' or (is_replay and how ~= 'succeeded' and how ~= 'discarded') then -- its letter is open (again)
    if rcall('SREM', left, member) == 1 then rcall('SADD', k('batch', batch, 'dead'), member) end
  elseif rcall('SREM', left, member) == 1 then
    rcall('HINCRBY', k('batch', batch, 'ended'), how, 1)
  end
  rcall('ZADD', k('batches'), now, batch)
end
