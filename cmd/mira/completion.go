package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

var shells = []string{"bash", "zsh", "fish"}

// completed is a command as a shell completes it.
type completed struct {
	subcommand
	flags []completedFlag
}

type completedFlag struct {
	name, about string
	value       bool // a value follows
}

// completionCommand prints the completion of all commands for a shell. It is made from what the
// commands themselves say to --help.
func completionCommand(_ context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		args = []string{strings.Join(args, " ")}
	}
	print := map[string]func(io.Writer, []completed){"bash": completeBash, "zsh": completeZsh, "fish": completeFish}[args[0]]
	if print == nil {
		fmt.Fprintf(stderr, "mira completion: want one of %s, not %q\n", strings.Join(shells, ", "), args[0])
		return exitUsage
	}
	var list []completed
	for _, c := range commands() {
		list = append(list, completed{c, flagsOf(c)})
	}
	print(stdout, list)
	return exitOK
}

// flagsOf reads what package flag prints: "  -name value", and what it is for below that.
func flagsOf(c subcommand) (flags []completedFlag) {
	if c.name == "help" || c.name == "version" || c.name == "completion" {
		return nil
	}
	var help bytes.Buffer
	c.run(context.Background(), []string{"--help"}, io.Discard, &help)
	for line := range strings.Lines(help.String()) {
		if text, ok := strings.CutPrefix(line, "  -"); ok {
			name, about, _ := strings.Cut(strings.TrimSpace(text), "\t") // one letter: all on one line
			name, value, _ := strings.Cut(name, " ")
			flags = append(flags, completedFlag{name, strings.TrimSpace(about), value != ""})
		} else if n := len(flags); n > 0 && flags[n-1].about == "" {
			flags[n-1].about = strings.TrimSpace(line)
		}
	}
	return flags
}

// wordsOf returns what may stand behind a command.
func (c completed) wordsOf() []string {
	list := append([]string(nil), c.words...)
	for _, f := range c.flags {
		list = append(list, "--"+f.name)
	}
	return list
}

func names(list []completed) (names []string) {
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}

func completeBash(w io.Writer, list []completed) {
	fmt.Fprint(w, "# bash completion of mira: source <(mira completion bash)\n_mira() {\n\tlocal words\n\tcase \"${COMP_WORDS[1]}\" in\n")
	for _, c := range list {
		fmt.Fprintf(w, "\t%s) words='%s' ;;\n", c.name, strings.Join(c.wordsOf(), " "))
	}
	fmt.Fprintf(w, "\t*) words='' ;;\n\tesac\n\tif [ \"$COMP_CWORD\" -eq 1 ]; then words='%s'; fi\n", strings.Join(names(list), " "))
	fmt.Fprint(w, "\tCOMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _mira mira\n")
}

func completeZsh(w io.Writer, list []completed) {
	fmt.Fprint(w, "#compdef mira\n# zsh completion of mira: mira completion zsh > \"${fpath[1]}/_mira\"\n_mira() {\n\tlocal -a list\n\tif (( CURRENT == 2 )); then\n\t\tlist=(")
	for _, c := range list {
		fmt.Fprintf(w, " %s", shellQuote(c.name+":"+c.about))
	}
	fmt.Fprint(w, ")\n\t\t_describe command list\n\t\treturn\n\tfi\n\tcase \"$words[2]\" in\n")
	for _, c := range list {
		fmt.Fprintf(w, "\t%s) list=(", c.name)
		for _, word := range c.words {
			fmt.Fprintf(w, " %s", shellQuote(word))
		}
		for _, f := range c.flags {
			fmt.Fprintf(w, " %s", shellQuote("--"+f.name+":"+f.about))
		}
		fmt.Fprint(w, ") ;;\n")
	}
	fmt.Fprint(w, "\tesac\n\t_describe argument list || _files\n}\n_mira \"$@\"\n")
}

func completeFish(w io.Writer, list []completed) {
	fmt.Fprint(w, "# fish completion of mira: mira completion fish > ~/.config/fish/completions/mira.fish\n")
	for _, c := range list {
		fmt.Fprintf(w, "complete -c mira -n __fish_use_subcommand -f -a %s -d %s\n", c.name, shellQuote(c.about))
		within := shellQuote("__fish_seen_subcommand_from " + c.name)
		for _, word := range c.words {
			fmt.Fprintf(w, "complete -c mira -n %s -f -a %s\n", within, word)
		}
		for _, f := range c.flags {
			needs := ""
			if f.value {
				needs = " -r"
			}
			fmt.Fprintf(w, "complete -c mira -n %s -l %s%s -d %s\n", within, f.name, needs, shellQuote(f.about))
		}
	}
}

// shellQuote makes one word of text, in each of the shells.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "’") + "'"
}
