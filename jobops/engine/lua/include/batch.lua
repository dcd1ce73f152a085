-- Batches: members that have not ended (left), that are dead (dead), whose dead letter a person has discarded (dropped),
-- and how many ended in which other way (ended). A member stands in one place at most, and counts once.
-- A replay stands for the member that died.

local function member_of(id, replay_of)
  return string.match(replay_of or '', '^(.*):[^:]*$') or id
end

-- In us: what changes within the millisecond of a change that was read must not count as read with it.
local function batch_changed(batch) rcall('ZADD', k('batches'), string.format('%d', now_us), batch) end

-- Answers whether it stood anywhere.
local function batch_leave(batch, member)
  local stood = 0
  for _, what in ipairs({'left', 'dead', 'dropped'}) do stood = stood + rcall('SREM', k('batch', batch, what), member) end
  return stood > 0
end

local function batch_move(batch, member, to)
  if not batch_leave(batch, member) then return false end
  rcall('SADD', k('batch', batch, to), member)
  return true
end

-- Keys of another kind must not keep a job from coming in or from ending: its member is missed later, and looked for.
local function guarded(batch, note)
  if batch and batch ~= '' then pcall(note) end
end

-- It is on its way (again).
local function batch_joined(id, batch, replay_of)
  guarded(batch, function()
    local member = member_of(id, replay_of)
    batch_leave(batch, member)
    rcall('SADD', k('batch', batch, 'left'), member)
    batch_changed(batch)
  end)
end

-- how: succeeded, discarded, cancelled, coalesced or dead. Whatever is told of a member again changes nothing.
local function batch_ended(id, batch, replay_of, how)
  guarded(batch, function()
    local member = member_of(id, replay_of)
    local is_replay = replay_of and replay_of ~= ''
    if how == 'dead' or (is_replay and how ~= 'succeeded' and how ~= 'discarded') then -- its letter is open (again)
      batch_move(batch, member, 'dead')
    elseif batch_leave(batch, member) then
      rcall('HINCRBY', k('batch', batch, 'ended'), how, 1)
    end
    batch_changed(batch)
  end)
end
