// Files that are made by an array of tasks, and their sum; one of them on two cores.
process part {
  input: val i
  output: path "part_*.txt"
  script: "echo $i > part_${i}.txt"
}

process total {
  cpus 2
  memory '100 MB'
  publishDir params.folder, mode: 'copy'
  input: path parts
  output: path 'sum.txt'
  script: "cat ${parts} | paste -sd+ | bc > sum.txt; echo \$SLURM_CPUS_ON_NODE >> sum.txt"
}

process fails {
  errorStrategy 'ignore'
  output: path 'nothing.txt'
  script: "exit 7"
}

workflow {
  part(Channel.of(0..<params.parts)) | collect | total
  fails()
}
