# Completion of titan for bash. `titan completion bash` prints this text; an installation has it in
# share/bash-completion/completions. Without bash-completion: source <(titan completion bash)
_titan() {
  local candidate
  COMPREPLY=()
  while IFS= read -r candidate; do
    # Text is never evaluated: what would mean something to the shell is quoted.
    if [[ $candidate == *[!A-Za-z0-9_.,:=/+@%~-]* ]]; then printf -v candidate '%q' "$candidate"; fi
    COMPREPLY+=("$candidate")
  done < <(command titan complete "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
complete -o default -F _titan titan
