"""No step of the device backend waits for the GPU: of CUDA's functions its objects call the launch and its error alone.

    no_sync_test.py NM OBJECT...
"""
import re
import subprocess
import sys

ALLOWED = {"cudaLaunchKernel", "cudaGetLastError", "cudaGetErrorString", "cudaLaunchKernelExC", "cudaGetDevice",
           # Registration of kernels when the file is loaded.
           "__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaRegisterFunction", "__cudaUnregisterFatBinary",
           "__cudaPushCallConfiguration", "__cudaPopCallConfiguration", "__cudaInitModule", "__cudaLaunchKernel",
           "__cudaGetKernel", "__cudaRegisterVar"}


def main():
    nm, objects = sys.argv[1], sys.argv[2:]
    called = set()
    for path in objects:
        text = subprocess.run([nm, "--undefined-only", path], capture_output=True, text=True, check=True).stdout
        called |= {line.split()[-1] for line in text.splitlines() if line.split()}
    cuda = {name for name in called if re.match(r"_*(cuda|cu[A-Z]|cublas)", name)}
    if not {"cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchKernelExC"} & cuda:
        sys.exit("no object launches a kernel: these are not the device objects: " + " ".join(objects))
    unexpected = sorted(cuda - ALLOWED)
    if unexpected:
        sys.exit("the device backend calls " + ", ".join(unexpected) + ": may a step wait for the GPU there?")


if __name__ == "__main__":
    main()
