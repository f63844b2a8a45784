// SPDX-License-Identifier: MIT
// Opens a decoder and an encoder of H.264 on each GPU that this process sees, and prints a line for
// each. A chip without such an engine is told apart from a driver that does not work.

#include "cuda_driver.h"

#include <dlfcn.h>
#include <err.h>
#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include <ffnvcodec/nvEncodeAPI.h>
#include <stdio.h>

enum { width = 640, height = 480 };

static tcuvidGetDecoderCaps* get_decoder_caps;
static tcuvidCreateDecoder* create_decoder;
static tcuvidDestroyDecoder* destroy_decoder;
static NV_ENCODE_API_FUNCTION_LIST encoding = {.version = NV_ENCODE_API_FUNCTION_LIST_VER};

static bool complain(const char* text)
{
    warnx("%s", text);
    return false;
}

static bool find(void* library, const char* name, void* function)
{
    void* address = dlsym(library, name);
    if (address == NULL)
        return complain(dlerror());
    *(void**)function = address;
    return true;
}

static bool load_decoding(void)
{
    void* library = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return complain(dlerror());
    return find(library, "cuvidGetDecoderCaps", (void*)&get_decoder_caps)
           && find(library, "cuvidCreateDecoder", (void*)&create_decoder)
           && find(library, "cuvidDestroyDecoder", (void*)&destroy_decoder);
}

static bool load_encoding(void)
{
    NVENCSTATUS (*create_instance)(NV_ENCODE_API_FUNCTION_LIST*) = NULL;
    void* library = dlopen("libnvidia-encode.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return complain(dlerror());
    if (!find(library, "NvEncodeAPICreateInstance", (void*)&create_instance))
        return false;
    const NVENCSTATUS status = create_instance(&encoding);
    if (status != NV_ENC_SUCCESS)
        warnx("start encoding: error %d", (int)status);
    return status == NV_ENC_SUCCESS;
}

static bool open_decoder(void)
{
    CUVIDDECODECAPS caps = {
        .eCodecType = cudaVideoCodec_H264,
        .eChromaFormat = cudaVideoChromaFormat_420,
    };
    CUVIDDECODECREATEINFO wanted = {
        .ulWidth = width,
        .ulHeight = height,
        .ulNumDecodeSurfaces = 4,
        .CodecType = cudaVideoCodec_H264,
        .ChromaFormat = cudaVideoChromaFormat_420,
        .ulTargetWidth = width,
        .ulTargetHeight = height,
        .ulNumOutputSurfaces = 1,
        .OutputFormat = cudaVideoSurfaceFormat_NV12,
        .DeinterlaceMode = cudaVideoDeinterlaceMode_Weave,
    };
    CUvideodecoder decoder = NULL;
    if (!check((int)get_decoder_caps(&caps), "ask for the decoders"))
        return false;
    if (!caps.bIsSupported) {
        printf(": no decoder");
        return true;
    }
    if (!check((int)create_decoder(&decoder, &wanted), "open a decoder"))
        return false;
    printf(": %u decoders", caps.nNumNVDECs);
    return check((int)destroy_decoder(decoder), "close the decoder");
}

static bool open_encoder(void* context)
{
    NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS wanted = {
        .version = NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS_VER,
        .deviceType = NV_ENC_DEVICE_TYPE_CUDA,
        .device = context,
        .apiVersion = NVENCAPI_VERSION,
    };
    void* encoder = NULL;
    const NVENCSTATUS status = encoding.nvEncOpenEncodeSessionEx(&wanted, &encoder);
    if (encoder != NULL)
        encoding.nvEncDestroyEncoder(encoder);
    if (status == NV_ENC_ERR_NO_ENCODE_DEVICE || status == NV_ENC_ERR_UNSUPPORTED_DEVICE)
        printf(", no encoder");
    else if (status == NV_ENC_SUCCESS)
        printf(", encoder opened");
    else
        warnx("open an encoder: error %d", (int)status);
    return status == NV_ENC_SUCCESS || status == NV_ENC_ERR_NO_ENCODE_DEVICE
           || status == NV_ENC_ERR_UNSUPPORTED_DEVICE;
}

static bool test_gpu(int ordinal)
{
    int device = 0;
    void* context = NULL;
    if (!find_gpu(ordinal, &device)
        || !check(cuda.context_retain(&context, device), "start the GPU"))
        return false;
    const bool done =
        check(cuda.context_set(context), "use the GPU") && open_decoder() && open_encoder(context);
    printf("\n");
    return check(cuda.context_release(device), "stop the GPU") && done;
}

int main(void)
{
    int count = 0;
    int failed = 0;
    if (!load_driver() || !count_gpus(&count) || !load_decoding() || !load_encoding())
        return 1;
    for (int i = 0; i < count; ++i)
        failed += !test_gpu(i);
    return failed == 0 ? 0 : 1;
}
