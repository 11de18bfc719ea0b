# SPDX-License-Identifier: GPL-2.0-or-later
# The text that protoc --decode makes of an OTLP request (otlp.proto) as folded stacks: its tables
# are looked up here as the protocol says, and not as xtop writes them. -v unit=NS divides values.
{ indent = match($0, /[^ ]/) - 1; value = $2 }
indent == 2 && $1 ~ /_table$/ { table = $1; index_[table]++ }
indent == 2 && $1 == "string_table:" {
	sub(/^ *string_table: "/, ""); sub(/"$/, ""); string[n_strings++] = $0; next
}
indent == 4 && $1 == "location_indices:" {
	at = index_["stack_table"] - 1
	stack[at] = stack[at] " " value
}
$1 == "function_index:" { functions[index_["location_table"] - 1] = value }
indent == 4 && $1 == "name_strindex:" { name[index_["function_table"] - 1] = value }
indent == 4 && $1 == "key_strindex:" { key[index_["attribute_table"] - 1] = value }
indent == 6 && $1 == "string_value:" && table == "attribute_table" {
	sub(/^ *string_value: "/, ""); sub(/"$/, ""); text[index_[table] - 1] = $0; next
}
$1 == "samples" { samples++ }
indent == 8 && $1 == "stack_index:" { of[samples] = value }
indent == 8 && $1 == "values:" { weight[samples] = value }
indent == 8 && $1 == "attribute_indices:" && !table { labels[samples] = labels[samples] " " value }
END {
	for (i = 1; i <= samples; i++) {
		line = ""
		n = split(labels[i], numbers, " ")
		for (k = 1; k <= n; k++)
			if (string[key[numbers[k]]] == "process.executable.name")
				line = text[numbers[k]]
		n = split(stack[of[i]], numbers, " ")
		for (k = n; k >= 1; k--)
			line = line (line == "" ? "" : ";") string[name[functions[numbers[k]]]]
		printf "%s %d\n", line, weight[i] / unit
	}
}
