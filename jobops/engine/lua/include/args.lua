-- Arguments are read before anything is written, so that a malformed call is one clear error and changes nothing.
local function arg_refuse(i, name, right)
  local given = ARGV[i] and "'" .. string.sub(ARGV[i], 1, 40) .. "'" or 'what is missing'
  error(name .. ': ' .. given .. ' must be ' .. right, 0)
end

local function arg_int(i, name, least)
  local n = tonumber(ARGV[i])
  if not (n and n >= least and n < 2 ^ 53 and n == math.floor(n)) then
    arg_refuse(i, name, 'a whole number from ' .. least)
  end
  return n
end

local function arg_positive(i, name)
  local n = tonumber(ARGV[i])
  if not (n and n > 0 and n < 2 ^ 53) then arg_refuse(i, name, 'a number above 0') end
  return ARGV[i]
end

local function arg_text(i, name)
  if not ARGV[i] or ARGV[i] == '' then arg_refuse(i, name, 'text') end
  return ARGV[i]
end

local function arg_flag(i, name)
  if ARGV[i] ~= '0' and ARGV[i] ~= '1' then arg_refuse(i, name, '0 or 1') end
  return ARGV[i] == '1'
end

-- So many arguments, or, with a step, any whole number of steps more.
local function arg_count(n, step)
  local more = #ARGV - n
  if more < 0 or more % (step or more + 1) ~= 0 then
    error('arguments: ' .. #ARGV .. ' were given, ' .. n .. (step and ' and any ' .. step .. ' more' or '') .. ' are right', 0)
  end
end
