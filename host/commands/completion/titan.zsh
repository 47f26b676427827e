#compdef titan
# Completion of titan for zsh. `titan completion zsh` prints this text; an installation has it as
# share/zsh/site-functions/_titan. Without that folder in fpath: source <(titan completion zsh)
_titan() {
  local candidate
  local -a whole open
  for candidate in "${(@f)$(command titan complete '' "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}"; do
    if [[ $candidate == *[=/] ]]; then
      open+=("$candidate")
    elif [[ -n $candidate ]]; then
      whole+=("$candidate")
    fi
  done
  if (( $#open )); then compadd -S '' -a open; fi
  if (( $#whole )); then compadd -a whole; fi
  if (( ! $#open && ! $#whole )); then
    compset -P '*='
    _files
  fi
}
if [[ $funcstack[1] == _titan ]]; then _titan "$@"; else compdef _titan titan; fi
