
-- The code below is the same for every schema. It reads ZMTP 3 over TCP, and flatbuffers or JSON in its messages. It
-- checks each place before it reads there, and stops after a number of lines, so any bytes take a bounded time.

local made, proto = pcall(Proto, schema.name, schema.title)
if not made then -- Wireshark has a protocol of this name
    schema.name = schema.name .. "_flatbuffers"
    proto = Proto(schema.name, schema.title)
end

local MAX_DEPTH = 64
local GREETING = 64
local SIGNATURE = 10
local COMMANDS = {
    READY = "properties", INITIATE = "properties", ERROR = "reason", PING = "ping",
    SUBSCRIBE = "topic", CANCEL = "topic", JOIN = "topic", LEAVE = "topic",
}

proto.prefs.ports = Pref.range("TCP ports", schema.ports, "The ports whose connections are read, besides those that"
    .. " begin with the greeting of ZeroMQ", 65535)
proto.prefs.lines = Pref.uint("Lines of a packet", 20000, "The most fields of messages that are shown for one packet")
proto.prefs.largest = Pref.uint("Largest frame", 268435456, "A frame with more bytes is not waited for")
proto.prefs.handshake = Pref.bool("Handshake of Batsim", schema.handshake, "The first message of each side begins with"
    .. " a word of four bytes, as in the protocol of Batsim")

local SCALARS = {
    bool = { 1, ftypes.BOOLEAN, function(range) return range:le_uint() ~= 0 end },
    utype = { 1, ftypes.UINT8, function(range) return range:le_uint() end },
    int8 = { 1, ftypes.INT8, function(range) return range:le_int() end },
    uint8 = { 1, ftypes.UINT8, function(range) return range:le_uint() end },
    int16 = { 2, ftypes.INT16, function(range) return range:le_int() end },
    uint16 = { 2, ftypes.UINT16, function(range) return range:le_uint() end },
    int32 = { 4, ftypes.INT32, function(range) return range:le_int() end },
    uint32 = { 4, ftypes.UINT32, function(range) return range:le_uint() end },
    int64 = { 8, ftypes.INT64, function(range) return range:le_int64() end },
    uint64 = { 8, ftypes.UINT64, function(range) return range:le_uint64() end },
    float32 = { 4, ftypes.FLOAT, function(range) return range:le_float() end },
    float64 = { 8, ftypes.DOUBLE, function(range) return range:le_float() end },
}

-- Fields that filters can name

local registered, by_name = {}, {}

local function register(own, label, kind, values)
    local name = schema.name .. "." .. own
    if not by_name[own] then
        local base = values and base.DEC or nil
        by_name[own] = values and ProtoField.new(label, name, kind, values, base) or ProtoField.new(label, name, kind)
        registered[#registered + 1] = by_name[own]
    end
    return by_name[own]
end

local function scalar_of(kind)
    if kind.k == "enum" then return SCALARS[schema.enums[kind.t].kind] end
    return SCALARS[kind.k]
end

local function kind_of_field(kind)
    if kind.k == "vector" or kind.k == "array" then
        if kind.bytes then return ftypes.BYTES end
        return kind_of_field(kind.e)
    end
    if kind.k == "string" then return ftypes.STRING end
    local scalar = scalar_of(kind)
    return scalar and scalar[2] or ftypes.NONE
end

local function values_of(kind)
    local names = {}
    local found = kind.k == "enum" and schema.enums[kind.t].values or kind.k == "utype" and schema.unions[kind.t].names
    for number, name in pairs(found or {}) do
        if tonumber(number) < 0 or tonumber(number) > 0x7fffffff then return nil end
        names[tonumber(number)] = name
    end
    return next(names) and names or nil
end

register(schema.root, schema.root, ftypes.NONE)
for name, part in pairs(schema.tables) do
    for _, field in ipairs(part.fields) do
        local kind = field.t
        local inner = kind.e or kind
        local values = not kind.bytes and (inner.k == "enum" or inner.k == "utype") and values_of(inner) or nil
        field.field = register(name .. "." .. field.n, field.n, kind_of_field(kind), values)
        if kind.e and not kind.bytes then
            field.count = register(name .. "." .. field.n .. "-count", "number of " .. field.n, ftypes.UINT32)
        end
        field.label = field.n
    end
end

local Z = {}
for name, kind in pairs({
    greeting = "NONE", version = "STRING", mechanism = "STRING", ["as-server"] = "BOOLEAN", frame = "NONE",
    flags = "UINT8", more = "BOOLEAN", long = "BOOLEAN", command = "BOOLEAN", size = "UINT64", name = "STRING",
    property = "STRING", value = "STRING", reason = "STRING", topic = "BYTES", ttl = "UINT16", data = "BYTES",
    init = "STRING", word = "UINT32", text = "STRING",
}) do
    Z[name] = register("zmtp-" .. name, name, ftypes[kind])
end
proto.fields = registered

local broken = ProtoExpert.new(schema.name .. ".zmtp-broken", "These bytes are not what they should be",
    expert.group.MALFORMED, expert.severity.ERROR)
local odd = ProtoExpert.new(schema.name .. ".zmtp-odd", "This is unusual", expert.group.PROTOCOL, expert.severity.WARN)
proto.experts = { broken, odd }

-- The reading of one packet: how many lines are left, and what its summary says

local left, summary, seen = 0, {}, {}

local function say(text)
    if seen[text] then
        seen[text] = seen[text] + 1
    elseif #summary < 12 then
        summary[#summary + 1] = text
        seen[text] = 1
    end
end

local function fail(reason) error({ reason = reason }, 0) end

local function spend()
    left = left - 1
    if left < 0 then fail("this packet has more fields than are shown: raise the preference for the lines of a packet") end
end

local function need(data, place, size, what)
    if place < 0 or size < 0 or place + size > data:len() then
        fail(what .. " lies outside the message, which has " .. data:len() .. " bytes")
    end
end

local function shown_real(value, digits)
    if value ~= value then return "nan" end
    if value == math.huge then return "inf" elseif value == -math.huge then return "-inf" end
    for precision = digits, 17 do
        local text = string.format("%." .. precision .. "g", value)
        if digits == 7 or tonumber(text) == value then return text end
    end
end

local function shown(kind, value)
    if kind.k == "float64" then return shown_real(value, 15) end
    if kind.k == "float32" then return shown_real(value, 7) end
    local text = tostring(value)
    if kind.k == "bool" then return text end
    local number = type(value) == "number" and string.format("%d", value) or text
    if kind.k == "utype" then
        return (schema.unions[kind.t].names[number] or "unknown") .. " (" .. number .. ")"
    elseif kind.k ~= "enum" then
        return number
    end
    local enum = schema.enums[kind.t]
    if enum.values[number] then return enum.values[number] .. " (" .. number .. ")" end
    if not enum.is_flags or type(value) ~= "number" then return "unknown (" .. number .. ")" end
    local names, rest = {}, value
    for bit = 0, 31 do
        local power = 2 ^ bit
        if math.floor(value / power) % 2 == 1 then
            local name = enum.values[string.format("%d", power)]
            if name then
                names[#names + 1] = name
                rest = rest - power
            end
        end
    end
    if rest ~= 0 then names[#names + 1] = string.format("%d", rest) end
    return (#names > 0 and table.concat(names, " ") or "none") .. " (" .. number .. ")"
end

local function add_scalar(tree, field, label, kind, data, place)
    local scalar = scalar_of(kind)
    need(data, place, scalar[1], "the field " .. field.n)
    spend()
    local range = data:range(place, scalar[1])
    local value = scalar[3](range)
    tree:add_le(field.field, range):set_text(label .. ": " .. shown(kind, value))
    return value
end

local function add_default(tree, field, data, position)
    local kind = field.t
    if field.d == nil or kind.k == "utype" then return end
    spend()
    if field.d == "null" then
        tree:add(field.label .. ": null"):set_generated()
        return
    end
    local value = field.d
    if type(value) == "table" then
        value = kind_of_field(kind) == ftypes.UINT64 and UInt64.new(value[1], value[2]) or Int64.new(value[1], value[2])
    end
    local item = tree:add(field.field, data:range(position, 0), value)
    item:set_text(field.label .. ": " .. shown(kind, value) .. " (default)")
    item:set_generated()
end

-- Flatbuffers

local add_table, add_struct, add_value

local function follow(data, place)
    need(data, place, 4, "an offset")
    local step = data:range(place, 4):le_uint()
    if step == 0 or place + step > data:len() then fail("an offset of " .. step .. " leads nowhere") end
    return place + step
end

local function add_text(tree, field, label, data, position)
    need(data, position, 4, "the size of a string")
    local size = data:range(position, 4):le_uint()
    need(data, position + 4, size + 1, "a string of " .. size .. " bytes")
    spend()
    local item
    if size == 0 then
        item = tree:add(field.field, data:range(position + 4, 0), "")
        item:set_text(label .. ": ")
    else
        local range = data:range(position + 4, size)
        item = tree:add(field.field, range)
        item:set_text(label .. ": " .. range:string(ENC_UTF_8))
    end
    if data:range(position + 4 + size, 1):uint() ~= 0 then
        item:add_proto_expert_info(broken, "the string does not end with a NUL")
    end
end

local function open(tree, field, label, name, data, position)
    spend()
    local item = tree:add(field, data:range(position, math.min(4, data:len() - position)))
    item:set_text(label .. ": " .. name)
    return item
end

local function union_value(tree, field, label, union, tag, data, position, depth)
    local member = schema.unions[union].members[tag]
    if not member then
        fail(label .. " has the type " .. tag .. ", which " .. union .. " does not have")
    elseif depth <= 6 then
        say(member.n)
    end
    if member.k == "string" then
        spend()
        need(data, position, 4, "the size of a string")
        local size = data:range(position, 4):le_uint()
        need(data, position + 4, size + 1, "a string of " .. size .. " bytes")
        tree:add(field.field, data:range(position + 4, size))
            :set_text(label .. ": " .. data:range(position + 4, size):string(ENC_UTF_8))
        return
    end
    local item = open(tree, field.field, label, member.n, data, position)
    if member.k == "struct" then
        add_struct(item, member.t, data, position, depth + 1)
    else
        add_table(item, member.t, data, position, depth + 1)
    end
end

local function width_of(kind)
    local scalar = scalar_of(kind)
    if scalar then return scalar[1] end
    return kind.k == "struct" and schema.tables[kind.t].size or 4
end

-- An element or a field that is not a scalar in its table. `place` is where it is, or where its offset is.
function add_value(tree, field, label, kind, data, place, depth)
    if scalar_of(kind) then
        add_scalar(tree, field, label, kind, data, place)
    elseif kind.k == "struct" then
        need(data, place, schema.tables[kind.t].size, "the struct " .. kind.t)
        add_struct(open(tree, field.field, label, kind.t, data, place), kind.t, data, place, depth + 1)
    elseif kind.k == "string" then
        add_text(tree, field, label, data, follow(data, place))
    else
        local position = follow(data, place)
        need(data, position, 4, "the table " .. kind.t)
        add_table(open(tree, field.field, label, kind.t, data, position), kind.t, data, position, depth + 1)
    end
end

local function add_bytes(tree, field, data, place, size, depth)
    spend()
    local item = size > 0 and tree:add(field.field, data:range(place, size)) or tree:add(field.field, data:range(place, 0))
    item:set_text(field.label .. ": " .. size .. " bytes")
    if field.nested and size > 0 then
        local inner = data:range(place, size):tvb()
        local position = follow(inner, 0)
        need(inner, position, 4, "the table " .. field.nested)
        item:append_text(", " .. field.nested)
        add_table(item, field.nested, inner, position, depth + 1)
    end
end

local function add_vector(tree, field, data, place, depth, tags)
    local position = follow(data, place)
    need(data, position, 4, "the size of a vector")
    local count, element = data:range(position, 4):le_uint(), field.t.e
    local width = width_of(element)
    need(data, position + 4, count * width, "a vector of " .. count .. " elements")
    if field.t.bytes then return add_bytes(tree, field, data, position + 4, count, depth) end
    spend()
    local item = tree:add_le(field.count, data:range(position, 4))
    item:set_text(field.label .. ": " .. count .. (count == 1 and " element" or " elements"))
    for index = 0, count - 1 do
        local at, label = position + 4 + index * width, "[" .. index .. "]"
        if element.k == "union" then
            if not tags or index >= tags.count then fail(field.label .. " has more elements than types") end
            local tag = data:range(tags.place + index, 1):uint()
            union_value(item, field, label, element.t, tag, data, follow(data, at), depth)
        else
            add_value(item, field, label, element, data, at, depth)
        end
    end
    return position + 4, count
end

function add_struct(tree, name, data, position, depth)
    if depth > MAX_DEPTH then fail("structs nest more than " .. MAX_DEPTH .. " deep") end
    for _, field in ipairs(schema.tables[name].fields) do
        local kind, place = field.t, position + field.o
        if kind.k ~= "array" then
            add_value(tree, field, field.label, kind, data, place, depth)
        elseif kind.bytes then
            add_bytes(tree, field, data, place, kind.length, depth)
        else
            spend()
            local width = width_of(kind.e)
            local item = tree:add(field.count, data:range(place, width * kind.length), kind.length)
            item:set_text(field.label .. ": " .. kind.length .. " elements")
            for index = 0, kind.length - 1 do
                add_value(item, field, "[" .. index .. "]", kind.e, data, place + index * width, depth)
            end
        end
    end
end

local function add_field(tree, field, data, place, depth, tags)
    local kind = field.t
    if kind.k == "utype" then
        tags[field.n] = add_scalar(tree, field, field.label, kind, data, place)
    elseif kind.k == "union" then
        local tag = tags[field.n .. "_type"] or 0
        union_value(tree, field, field.label, kind.t, tag, data, follow(data, place), depth)
    elseif kind.k == "vector" then
        local start, count = add_vector(tree, field, data, place, depth, tags[field.n .. "_type"])
        tags[field.n] = start and { place = start, count = count }
    else
        add_value(tree, field, field.label, kind, data, place, depth)
    end
end

function add_table(tree, name, data, position, depth)
    if depth > MAX_DEPTH then fail("tables nest more than " .. MAX_DEPTH .. " deep") end
    need(data, position, 4, "the table " .. name)
    local vtable = position - data:range(position, 4):le_int()
    need(data, vtable, 4, "the vtable of " .. name)
    local size = data:range(vtable, 2):le_uint()
    if size < 4 or size % 2 ~= 0 then fail("the vtable of " .. name .. " has an impossible size, " .. size) end
    need(data, vtable, size, "the vtable of " .. name)
    local tags = {}
    for _, field in ipairs(schema.tables[name].fields) do
        local entry = 4 + 2 * field.s
        local inline = entry < size and data:range(vtable + entry, 2):le_uint() or 0
        if inline > 0 then
            add_field(tree, field, data, position + inline, depth, tags)
        elseif field.r then
            spend()
            tree:add_proto_expert_info(odd, name .. "." .. field.n .. " is required and missing")
        else
            add_default(tree, field, data, position)
        end
    end
end

local function add_flatbuffer(tree, data)
    need(data, 0, 4, "the offset of the message")
    local position = follow(data, 0)
    local item = open(tree, by_name[schema.root], "Flatbuffer", schema.root, data, position)
    if #schema.identifier > 0 and (data:len() < 8 or data:range(4, 4):string() ~= schema.identifier) then
        item:add_proto_expert_info(odd, "the file identifier is not " .. schema.identifier)
    end
    say(schema.root)
    add_table(item, schema.root, data, position, 1)
end

-- Payloads

local json = nil
pcall(function() json = Dissector.get("json") end)

local function is_json(data)
    local length = data:len()
    local text = data:range(0, math.min(length, 64)):string()
    local start = text:match("^\239?\187?\191?[ \t\r\n]*()[%[{]")
    if not start or length < 2 then return false end
    return data:range(start, 1):uint() ~= 0 and (length < 4 or data:range(0, 4):le_uint() >= length)
end

local function add_json(tree, data, pinfo)
    local length = data:len()
    local text = data:range(0, length):string(ENC_UTF_8)
    local ending = text:find("\0", 1, true)
    spend()
    tree:add(Z.text, data:range(0, length)):set_text("JSON: " .. length .. " bytes")
    say("JSON")
    if json then
        local protocol, info = tostring(pinfo.cols.protocol), tostring(pinfo.cols.info)
        local inner = data
        if ending and ending > 1 and ending - 1 < length then inner = data:range(0, ending - 1):tvb() end
        pcall(function() json:call(inner, pinfo, tree) end)
        pinfo.cols.protocol, pinfo.cols.info = protocol, info
    end
end

local function add_payload(tree, data, pinfo)
    local length = data:len()
    local word = length >= 4 and data:range(0, 4):le_uint() or nil
    if proto.prefs.handshake and word == length - 4 then
        spend()
        tree:add_le(Z.word, data:range(0, 4)):set_text("Size of the initialization data: " .. word)
        local item = length > 4 and tree:add(Z.init, data:range(4)) or tree:add(Z.init, data:range(4, 0), "")
        item:set_text("Initialization data: " .. (length > 4 and data:range(4):string(ENC_UTF_8) or ""))
        say("Initialization data")
        return
    end
    if proto.prefs.handshake and (word == 1 or word == 2) and length > 4 then
        spend()
        local text = word == 2 and "JSON" or "binary"
        tree:add_le(Z.word, data:range(0, 4)):set_text("Format of the conversation: " .. text .. " (" .. word .. ")")
        data = data:range(4):tvb()
    elseif word == length - 4 and length > 8 then
        spend()
        tree:add_le(Z.word, data:range(0, 4)):set_text("Size of the flatbuffer: " .. word)
        data = data:range(4):tvb()
    end
    if is_json(data) then return add_json(tree, data, pinfo) end
    add_flatbuffer(tree, data)
end

-- Run a function; what is wrong with the bytes becomes a remark on the item.
local function careful(item, work, ...)
    local done, fault = pcall(work, ...)
    if done then return end
    local reason = type(fault) == "table" and fault.reason or tostring(fault)
    item:add_proto_expert_info(type(fault) == "table" and broken or odd, reason)
    say("[" .. (type(fault) == "table" and "malformed" or "error: " .. reason) .. "]")
end

-- ZMTP

local function add_greeting(tree, range)
    local item = tree:add(Z.greeting, range)
    item:set_text("ZMTP greeting")
    local major, minor = range:range(10, 1):uint(), range:range(11, 1):uint()
    local version = major .. "." .. minor
    item:add(Z.version, range:range(10, 2), version):set_text("Version: " .. version)
    local mechanism = range:range(12, 20):string():match("^[^\0]*")
    item:add(Z.mechanism, range:range(12, 20), mechanism):set_text("Mechanism: " .. mechanism)
    item:add(Z["as-server"], range:range(32, 1)):set_text("As server: " .. tostring(range:range(32, 1):uint() == 1))
    say("Greeting " .. version)
end

local function add_properties(tree, data, place)
    while place < data:len() do
        local size = data:range(place, 1):uint()
        need(data, place + 1, size + 4, "a property")
        local name = size > 0 and data:range(place + 1, size):string() or ""
        local length = data:range(place + 1 + size, 4):uint()
        need(data, place + 5 + size, length, "the value of " .. name)
        spend()
        local item = tree:add(Z.property, data:range(place, 5 + size + length), name)
        local value = length > 0 and data:range(place + 5 + size, length):string() or ""
        item:set_text(name .. ": " .. value)
        if length > 0 then item:add(Z.value, data:range(place + 5 + size, length)):set_text("Value: " .. value) end
        place = place + 5 + size + length
    end
end

local function add_command(tree, data)
    need(data, 0, 1, "the name of a command")
    local size = data:range(0, 1):uint()
    need(data, 1, size, "the name of a command")
    local name = size > 0 and data:range(1, size):string() or ""
    tree:add(Z.name, data:range(0, 1 + size), name):set_text("Command: " .. name)
    tree:append_text(", command " .. name)
    say(name)
    local place, what = 1 + size, COMMANDS[name]
    if place >= data:len() then return end
    if what == "properties" then
        add_properties(tree, data, place)
    elseif what == "reason" then
        local length = data:range(place, 1):uint()
        need(data, place + 1, length, "a reason")
        local reason = length > 0 and data:range(place + 1, length):string() or ""
        tree:add(Z.reason, data:range(place, 1 + length), reason):set_text("Reason: " .. reason)
    elseif what == "ping" and data:len() >= place + 2 then
        tree:add(Z.ttl, data:range(place, 2)):set_text("Time to live: " .. data:range(place, 2):uint() / 10 .. " s")
    elseif what == "topic" then
        tree:add(Z.topic, data:range(place))
    else
        tree:add(Z.data, data:range(place))
    end
end

local function add_frame(tree, range, header, pinfo)
    local flags = range:range(0, 1):uint()
    local size = range:len() - header
    local item = tree:add(Z.frame, range)
    local more, is_command = flags % 2 == 1, math.floor(flags / 4) % 2 == 1
    item:set_text("ZMTP frame, " .. size .. (size == 1 and " byte" or " bytes") .. (more and ", more frames follow" or ""))
    local bits = item:add(Z.flags, range:range(0, 1))
    bits:set_text(string.format("Flags: 0x%02x", flags))
    bits:add(Z.more, range:range(0, 1), more):set_text("More: " .. tostring(more))
    bits:add(Z.long, range:range(0, 1), header == 9):set_text("Long: " .. tostring(header == 9))
    bits:add(Z.command, range:range(0, 1), is_command):set_text("Command: " .. tostring(is_command))
    item:add(Z.size, range:range(1, header - 1)):set_text("Size: " .. size)
    if size == 0 then return end
    local data = range:range(header, size):tvb()
    if is_command then
        careful(item, add_command, item, data)
    else
        careful(item, add_payload, item, data, pinfo)
    end
end

-- The bytes before the body and all bytes of what begins here; nil if more bytes are needed to know.
local function extent(tvb, offset)
    local available = tvb:len() - offset
    local flags = tvb:range(offset, 1):uint()
    if flags == 0xff then
        if available > SIGNATURE and tvb:range(offset + SIGNATURE, 1):uint() < 3 then
            fail("the greeting is not of ZMTP 3")
        end
        return "greeting", GREETING
    end
    if flags > 7 then fail("this is not the beginning of a frame of ZMTP") end
    if math.floor(flags / 2) % 2 == 0 then
        if available < 2 then return nil end
        return 2, 2 + tvb:range(offset + 1, 1):uint()
    end
    if available < 9 then return nil end
    local high, low = tvb:range(offset + 1, 4):uint(), tvb:range(offset + 5, 4):uint()
    if high > 0 or low > proto.prefs.largest then fail("the frame is larger than the preference allows") end
    return 9, 9 + low
end

-- Show what is whole; return how many bytes are missing from what is not, or nil.
local function add_all(tvb, pinfo, tree)
    local offset, length = 0, tvb:len()
    while offset < length do
        local known, header, size = pcall(extent, tvb, offset)
        if not known then
            local rest = tree:add(Z.data, tvb:range(offset))
            rest:add_proto_expert_info(broken, type(header) == "table" and header.reason or tostring(header))
            say("[not a frame]")
            return nil
        end
        if header == nil or size > length - offset then
            if tvb:reported_len() > length then
                local rest = tree:add(Z.data, tvb:range(offset))
                rest:add_proto_expert_info(odd, "the packet was not captured to its end")
                return nil
            end
            return offset, header and size - (length - offset) or DESEGMENT_ONE_MORE_SEGMENT
        end
        left = left - 1
        if left < 0 then
            tree:add(Z.data, tvb:range(offset)):add_proto_expert_info(odd, "this packet has more frames than are shown")
            return nil
        end
        local range = tvb:range(offset, size)
        if header == "greeting" then
            add_greeting(tree, range)
        else
            add_frame(tree, range, header, pinfo)
        end
        offset = offset + size
    end
end

-- Heuristics call this itself: a call of proto.dissector would be one of Wireshark, which then waits for no more bytes.
local function dissect(tvb, pinfo, tree)
    if tvb:len() == 0 then return 0 end
    left, summary, seen = proto.prefs.lines, {}, {}
    pinfo.cols.protocol = schema.title
    local top = tree:add(proto, tvb:range(0))
    local offset, missing = add_all(tvb, pinfo, top)
    if offset then
        if pinfo.can_desegment > 0 then
            pinfo.desegment_offset, pinfo.desegment_len = offset, missing
        else
            top:add(Z.data, tvb:range(offset)):add_proto_expert_info(odd, "the rest of the frame is in other packets")
        end
        say("...")
    end
    local words = {}
    for index, text in ipairs(summary) do
        words[index] = seen[text] > 1 and text .. " x" .. seen[text] or text
    end
    if #words > 0 then
        pinfo.cols.info = table.concat(words, ", ")
        top:append_text(", " .. table.concat(words, ", "))
    end
    return tvb:len()
end

proto.dissector = dissect

local function begins(tvb, pinfo, tree)
    if tvb:len() < SIGNATURE or tvb:range(0, 1):uint() ~= 0xff or tvb:range(9, 1):uint() ~= 0x7f then return false end
    for place = 1, 7 do
        if tvb:range(place, 1):uint() ~= 0 then return false end
    end
    pinfo.conversation = proto
    dissect(tvb, pinfo, tree)
    return true
end
proto:register_heuristic("tcp", begins)

local ports = DissectorTable.get("tcp.port")
local current = ""
function proto.prefs_changed()
    if current == proto.prefs.ports then return end
    if current ~= "" then ports:remove(current, proto) end
    current = proto.prefs.ports
    if current ~= "" then ports:add(current, proto) end
end
if schema.ports ~= "" then
    ports:add(schema.ports, proto)
    current = schema.ports
end
ports:add_for_decode_as(proto)
