// Runs scripts the way Argo CD does: the same interpreter of Lua 5.1, with the libraries that Argo CD opens and no other.
// Reads {"script": ..., "object": {...}} lines on stdin and writes {"result": ...} or {"error": ...} lines.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
)

type request struct {
	Script string         `json:"script"`
	Object map[string]any `json:"object"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		result, err := run(asked)
		if err != nil {
			out.Encode(map[string]any{"error": err.Error()})
		} else {
			out.Encode(map[string]any{"result": result})
		}
	}
}

func run(asked request) (any, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName:  lua.OpenPackage,
		lua.BaseLibName:  lua.OpenBase,
		lua.TabLibName:   lua.OpenTable,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	// Of the os library Argo CD gives time and date, to scripts that require it.
	state.PreloadModule(lua.OsLibName, func(l *lua.LState) int {
		l.Push(l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"time": now, "date": date}))
		return 1
	})
	state.SetGlobal("obj", toLua(state, asked.Object))
	if err := state.DoString(asked.Script); err != nil {
		return nil, err
	}
	return fromLua(state.Get(-1)), nil
}

func now(l *lua.LState) int {
	l.Push(lua.LNumber(time.Now().Unix()))
	return 1
}

func date(l *lua.LState) int {
	l.Push(lua.LString(time.Now().UTC().Format(time.RFC3339)))
	return 1
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, member := range typed {
			state.SetField(table, key, toLua(state, member))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, member := range typed {
			table.Append(toLua(state, member))
		}
		return table
	case string:
		return lua.LString(typed)
	case float64:
		return lua.LNumber(typed)
	case bool:
		return lua.LBool(typed)
	default:
		return lua.LNil
	}
}

func fromLua(value lua.LValue) any {
	switch typed := value.(type) {
	case *lua.LTable:
		if typed.Len() > 0 {
			list := []any{}
			typed.ForEach(func(_, member lua.LValue) { list = append(list, fromLua(member)) })
			return list
		}
		object := map[string]any{}
		typed.ForEach(func(key, member lua.LValue) { object[key.String()] = fromLua(member) })
		return object
	case lua.LString:
		return string(typed)
	case lua.LNumber:
		return float64(typed)
	case lua.LBool:
		return bool(typed)
	default:
		return nil
	}
}
