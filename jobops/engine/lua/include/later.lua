-- Fields of hashes that one call may change several times, and that nothing else in it reads from Redis. A command that
-- begins with put_off() writes them once, by its write_all(); without that each is written when it changes.

local put_by -- key → field → text or number
local function put_off() put_by = {} end

local function text_of(value)
  if type(value) ~= 'number' then return value end
  return string.format(value % 1 == 0 and '%d' or '%.17g', value)
end

local function write_later(key, field, value)
  if not put_by then return rcall('HSET', key, field, text_of(value)) end
  local fields = put_by[key]
  if not fields then
    fields = {}
    put_by[key] = fields
  end
  fields[field] = value
end

local function write_all()
  for key, fields in pairs(put_by) do
    local pairs_of = {}
    for field, value in pairs(fields) do
      local n = #pairs_of
      pairs_of[n + 1], pairs_of[n + 2] = field, text_of(value)
    end
    rcall('HSET', key, unpack(pairs_of))
  end
  put_by = nil
end
