module gpucontainer

go 1.19
