-- What a call that ends many attempts counts of them, written once.
-- @include counters

local counted = {tenant = {}, type = {}}
local function count(hash, field, by) counted[hash][field] = (counted[hash][field] or 0) + by end

local function count_lost(lease)
  count('tenant', lease.tenant .. '|lost', 1)
  count('type', lease.type .. '|lost', 1)
end

-- Writes what was counted since.
local function bump_counted()
  for hash, fields in pairs(counted) do
    if next(fields) then
      counted[hash] = {}
      bump(hash, fields)
    end
  end
end
