-- The cell: what all tenants share, in one hash. Pauses, the lanes' virtual times, what has been measured.
-- @include later

local cell_read = {} -- field → text, or false: it has none. Read once a call, and kept here when it changes

-- Reads these at once; cell() asks for one at a time. Answers them.
local function read_cell(...)
  local f, names = rcall('HMGET', CELL, ...), {...}
  for i = 1, #names do cell_read[names[i]] = f[i] end
  return f
end

local function cell(field)
  local text = cell_read[field]
  if text == nil then
    text = rcall('HGET', CELL, field)
    cell_read[field] = text
  end
  return text
end

local function cell_set(field, text)
  cell_read[field] = text
  rcall('HSET', CELL, field, text)
end

-- A lane's share, vtime, vnow, vmax and level. What else of the cell the call will ask for is best read with them.
local lanes_read = {}
local function lane_of(name, ...)
  local l = lanes_read[name]
  if not l then
    local f = read_cell('share:' .. name, 'vtime:' .. name, 'vnow:' .. name, 'vmax:' .. name, 'level:' .. name, ...)
    l = {share = tonumber(f[1] or 1), vtime = tonumber(f[2] or 0), vnow = tonumber(f[3] or 0), vmax = tonumber(f[4] or 0),
      level = f[5] or '0'}
    lanes_read[name] = l
  end
  return l
end

-- what: vtime, vnow or vmax.
local function lane_set(name, what, value)
  lane_of(name)[what] = value
  write_later(CELL, what .. ':' .. name, value)
end

local all_lanes -- read once a call
local function each_lane()
  if not all_lanes then
    all_lanes = {}
    for lane in string.gmatch(cell('lanes') or '', '[^\n]+') do all_lanes[#all_lanes + 1] = lane end
  end
  return ipairs(all_lanes)
end

-- A type's moving average of run time (ms), or nil.
local function average_of(job_type) return tonumber(cell('average:' .. job_type) or '') end

local function note_average(job_type, average)
  cell_read['average:' .. job_type] = average
  write_later(CELL, 'average:' .. job_type, average)
end
