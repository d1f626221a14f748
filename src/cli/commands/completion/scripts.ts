/** The first word of the command line by which a shell asks for candidates. */
export const completionRequest = '__complete';

/**
 * The completion scripts. Each passes the words of the command line to `herald __complete`, which prints a candidate a line, a description
 * after a tab, and last ":" with a directive: 0 complete files, 4 nothing else, 16 complete directories.
 */
export const scripts = {
  // The words come from the line, because bash splits COMP_WORDS also at "=". Version 3.2, which macOS has, runs this too.
  bash: `# bash completion for herald. Load it with: source <(herald completion bash)
_herald() {
  local line=\${COMP_LINE:0:COMP_POINT} current candidate answer directive=4
  local -a words
  read -r -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=\${words[\${#words[@]}-1]}
  answer=$("$1" ${completionRequest} "\${words[@]:1}" 2>/dev/null) || return 0
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == :* ]]; then
      directive=\${candidate#:}
    elif [[ -n $candidate ]]; then
      candidate=\${candidate%%$'\\t'*}
      [[ $current == --*=* ]] && candidate=\${candidate#"\${current%%=*}="}
      COMPREPLY+=("$candidate")
    fi
  done <<<"$answer"
  [[ $current == --*=* ]] && current=\${current#*=}
  case $directive in
  0 | 16)
    compopt -o filenames 2>/dev/null
    [[ $directive == 16 ]] && set -- -d || set -- -f
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen "$1" -- "$current")
    ;;
  esac
}
complete -F _herald herald
`,
  zsh: `#compdef herald
# zsh completion for herald. Load it with: source <(herald completion zsh), or save it as _herald in a directory of $fpath.
_herald() {
  local -a candidates
  local line name directive=4
  for line in "\${(@f)$("\${words[1]}" ${completionRequest} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
    '') ;;
    :*) directive=\${line#:} ;;
    *$'\\t'*)
      name=\${line%%$'\\t'*}
      candidates+=("\${name//:/\\\\:}:\${line#*$'\\t'}")
      ;;
    *) candidates+=("\${line//:/\\\\:}") ;;
    esac
  done
  case $directive in
  0) compset -P '--*='; _files ;;
  16) compset -P '--*='; _files -/ ;;
  *) _describe -V herald candidates ;;
  esac
}
if [[ $funcstack[1] == _herald ]]; then _herald "$@"; else compdef _herald herald; fi
`,
  fish: `# fish completion for herald. Load it with: herald completion fish | source
function __herald_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  test (count $current) -eq 0; and set current ''
  set -l answer ($words[1] ${completionRequest} $words[2..-1] $current 2>/dev/null)
  string match -v -r '^:' -- $answer
  switch "$answer[-1]"
    case ':0'
      __fish_complete_path (string replace -r '^--[^=]*=' '' -- $current)
    case ':16'
      __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $current)
  end
end
complete -c herald -f -a '(__herald_complete)'
`,
  // kubectl looks for a program of this name and passes the words after "kubectl herald".
  kubectl: `#!/bin/sh
# kubectl completion for kubectl herald. Save it as kubectl_complete-herald in a directory of the PATH and make it executable.
exec kubectl herald ${completionRequest} "$@"
`,
} as const;
