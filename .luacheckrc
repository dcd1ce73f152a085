-- For the expanded commands: each file with its includes in front, so not every included function is used in each.
std = "lua51"
read_globals = { "redis", "cjson", "cmsgpack", "bit", "struct", "KEYS", "ARGV" }
max_line_length = 130
ignore = { "211" } -- unused local variable
