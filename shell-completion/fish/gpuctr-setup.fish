# SPDX-License-Identifier: MIT
# Completion of gpuctr-setup for fish. Commands, options and their values are those that --help
# shows; GPUs and set-ups are those that `list` and `status` show.

# The options of a command, one a line: its names, its value and what it does, with tabs between.
function __gpuctr_setup_options
    set -l option
    for line in (command $argv --help 2>/dev/null)
        if set -l found (string replace -rf '^  (-[^ ,]+(?:, -[^ ,]+)*)(?: ([^ ]+))?(?:  +(.*))?$' '$1\t$2\t$3' -- $line)
            set -a option (string replace -r '^(-[^ ,\t]+),' '$1' -- $found)
        else if set -l more (string match -rg '^ {12,}(.*)$' -- $line); and set -q option[1]
            set option[-1] (string replace -r '\t $' \t -- "$option[-1] ")$more
        end
    end
    printf '%s\n' $option
end

# Commands of the program, or of a group of commands such as cdi, with what they do.
function __gpuctr_setup_commands
    command $argv --help 2>/dev/null | sed -n '/^Commands:$/,/^$/s/^  \([a-z][a-z]*\)  */\1\t/p'
end

# The GPUs of this host, with their models: by index if all are of one vendor, by UUID, and by PCI
# address if there is no UUID or an address is begun.
function __gpuctr_setup_gpus -a program part
    set -l drivers 0
    set -l in_table no
    set -l indexes
    set -l names
    for line in (command $program list 2>/dev/null)
        set -l word (string split -n ' ' -- $line)
        if string match -qr '^GPU +UUID ' -- $line
            set in_table yes
            set drivers (math $drivers + 1)
        else if test -z "$line"
            set in_table no
        else if test $in_table = yes
            set -l model (string join ' ' -- $word[6..])
            set -a indexes $word[1]\t$model
            test $word[2] = -; or set -a names $word[2]\t$model
            if test $word[3] != -; and begin
                    test $word[2] = -; or string match -q '*:*' -- $part
                end
                set -a names $word[3]\t$model
            end
        end
    end
    test $drivers -ne 1; or printf '%s\n' $indexes
    printf '%s\n' $names
end

# Completes the last part of a list with the arguments that are not in it.
function __gpuctr_setup_list -a token
    set -l before (string match -r '^.*,' -- $token)
    set -l listed (string split , -- $before)
    for candidate in $argv[2..]
        contains -- (string split \t -- $candidate)[1] $listed; or echo "$before$candidate"
    end
end

# The values of an option: its name, its kind, its text in --help, and what is typed of it.
function __gpuctr_setup_values -a program command option kind text token
    set text (string replace -r ' \(default:.*' '' -- $text)
    switch "$option:$kind"
        case '--device:*'
            __gpuctr_setup_list "$token" auto all none (__gpuctr_setup_gpus $program "$token")
        case '--vendor:*'
            command $program list --vendor '?' 2>&1 | string match -rg '^hint: vendors are (.*)' | string split ', '
        case '--chdir:*' '--tree-path:*' # in the container
        case '*:*|*'
            string split '|' -- $kind
        case '*:FORMAT'
            string match -rg '.*: (.*)' -- $text | string split ', ' | string replace -r '^or ' ''
        case '*:LIST'
            set -l words (string match -rg '.*: (.*)' -- $text | string split ', ' | string replace -r '^or ' '')
            __gpuctr_setup_list "$token" $words
        case '--rootfs:*'
            contains -- $command undo status; and __gpuctr_setup_roots $program
            or __fish_complete_directories "$token" ''
        case '*:DIR'
            __fish_complete_directories "$token" ''
        case '*:FILE' '*:SRC*'
            __fish_complete_path "$token"
        case '*:PID'
            __fish_complete_pids
    end
end

# The roots that are set up. `status` would wait for one that another process works on.
function __gpuctr_setup_roots -a program
    set -l words (commandline -opc)
    set -l state
    if set -l at (contains -i -- --state-dir $words)
        set state --state-dir $words[(math $at + 1)]
    end
    timeout 2 $program status --all $state 2>/dev/null | string match -r '^/[^\\\\]*$'
end

function __gpuctr_setup_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program $words[1]
    string match -q '~/*' -- $program; and set program $HOME/(string sub -s 3 -- $program)
    command -q $program; or return
    set -l commands (__gpuctr_setup_commands $program)
    set -l command
    # As in the program: the first word that is not an option of every command decides.
    set -l everywhere (__gpuctr_setup_options $program)
    set -l is_value no
    for word in $words[2..]
        if test $is_value = yes
            set is_value no
            continue
        end
        set -l name (string replace -r '=.*' '' -- $word)
        set -l escaped (string escape --style=regex -- $name)
        if set -l option (string match -r -- "^(?:\S+ )?$escaped(?: \S+)?\t.*" $everywhere)
            set -l kind (string split \t -- $option)[2]
            test $name = $word; and test -n "$kind"; and set is_value yes
            continue
        end
        set command apply
        string match -q -- "$word"\t'*' $commands; and set command $word
        break
    end
    set -l asked apply
    test -z "$command"; or set asked $command
    set -l subcommands
    test -z "$command"; or set subcommands (__gpuctr_setup_commands $program $command)
    for word in $words[2..]
        if contains -- $word (string split -f 1 \t -- $subcommands)
            set -a asked $word
            set subcommands
            break
        end
    end

    set -l option (string match -rg '^(--[^=]+)=' -- $token)
    set -l is_split $status
    test $is_split -eq 0; or set option $words[-1]
    for line in (__gpuctr_setup_options $program $asked)
        set -l part (string split \t -- $line)
        set -l names (string split ' ' -- $part[1])
        if test -n "$part[2]"; and contains -- "$option" $names
            set -l values (__gpuctr_setup_values $program "$command" $names[-1] $part[2] "$part[3]" \
                (string replace -r '^--[^=]+=' '' -- $token))
            test $is_split -eq 0; and printf "$option=%s\n" $values; or printf '%s\n' $values
            return
        end
        string match -q -- '-*' $token; and printf '%s\n' $names\t$part[3]
    end
    test -n "$command"; or printf '%s\n' $commands
    if set -q subcommands[1]
        printf '%s\n' $subcommands
    else if test -n "$command"; and string match -q '* FILE*' -- (command $program $asked --help 2>/dev/null)[1]
        __fish_complete_path "$token"
    end
end

# Whether the words after "--" are being typed: a command line of their own.
function __gpuctr_setup_has_command
    contains -- -- (commandline -opc)
end

function __gpuctr_setup_command_line
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..]) (commandline -ct))
end

complete -c gpuctr-setup -f
complete -c gpuctr-setup -n 'not __gpuctr_setup_has_command' -a '(__gpuctr_setup_complete)'
complete -c gpuctr-setup -n __gpuctr_setup_has_command -a '(__gpuctr_setup_command_line)'
